//! The metadata of a code object: which arguments each kernel takes, and where among its bytes.

use rmpv::Value;

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    /// What the source calls it, where that is known.
    pub(crate) name: String,
    /// `.value_kind`.
    pub(crate) kind: String,
    /// Where it begins.
    pub(crate) offset: u32,
    /// Its length.
    pub(crate) bytes: u32,
}

impl Argument {
    /// Whether the runtime fills it in, and no caller gives it.
    pub(crate) fn hidden(&self) -> bool {
        self.kind.starts_with("hidden_")
    }
}

/// What the metadata says of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    /// The symbol of its descriptor: the name with `.kd`.
    pub(super) symbol: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) kernarg_bytes: u32,
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_map()?.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
}

fn number(value: &Value, name: &str) -> Option<u32> {
    field(value, name)?.as_u64()?.try_into().ok()
}

fn text(value: &Value, name: &str) -> Option<String> {
    Some(field(value, name)?.as_str()?.to_owned())
}

/// Read the note's content.
pub(super) fn read(mut bytes: &[u8]) -> Result<Vec<Described>, String> {
    let value = rmpv::decode::read_value(&mut bytes).map_err(|error| format!("its metadata: {error}"))?;
    if !value.is_map() {
        return Err("its metadata is no map".into());
    }
    let kernels = field(&value, "amdhsa.kernels").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    kernels.iter().map(|kernel| described(kernel).ok_or_else(|| format!("a kernel's metadata: {kernel}"))).collect()
}

fn described(kernel: &Value) -> Option<Described> {
    let arguments = field(kernel, ".args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let arguments: Option<Vec<Argument>> = arguments.iter().map(argument).collect();
    Some(Described {
        symbol: text(kernel, ".symbol")?,
        arguments: arguments?,
        kernarg_bytes: number(kernel, ".kernarg_segment_size")?,
    })
}

fn argument(value: &Value) -> Option<Argument> {
    Some(Argument {
        name: text(value, ".name").unwrap_or_default(),
        kind: text(value, ".value_kind")?,
        offset: number(value, ".offset")?,
        bytes: number(value, ".size")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: Vec<(&str, Value)>) -> Value {
        Value::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    fn encoded(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, value).unwrap();
        bytes
    }

    #[test]
    fn arguments_are_read_and_what_is_no_metadata_is_refused() {
        let argument = map(vec![(".offset", 8.into()), (".size", 4.into()), (".value_kind", "by_value".into())]);
        let hidden = map(vec![(".offset", 16.into()), (".size", 8.into()), (".value_kind", "hidden_none".into())]);
        let kernel = map(vec![
            (".symbol", "k.kd".into()),
            (".kernarg_segment_size", 24.into()),
            (".args", Value::Array(vec![argument, hidden])),
        ]);
        let all = read(&encoded(&map(vec![("amdhsa.kernels", Value::Array(vec![kernel]))]))).unwrap();
        assert_eq!((all[0].symbol.as_str(), all[0].kernarg_bytes, all[0].arguments[0].offset), ("k.kd", 24, 8));
        assert_eq!(all[0].arguments.iter().map(Argument::hidden).collect::<Vec<_>>(), [false, true]);
        assert!(read(&[0xC1]).is_err());
        assert!(read(&[]).is_err());
        let wrong = map(vec![("amdhsa.kernels", Value::Array(vec![map(vec![(".symbol", 3.into())])]))]);
        assert!(read(&encoded(&wrong)).unwrap_err().contains("metadata"));
    }
}
