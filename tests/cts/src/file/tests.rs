//! Decoding of small files that these tests encode, whole and damaged.

use half::f16;

use super::*;

/// Encodes as the format says, so that each item lies at a multiple of its size.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn put<const N: usize>(&mut self, bytes: [u8; N]) -> &mut Self {
        self.0.resize(self.0.len().next_multiple_of(N), 0);
        self.0.extend(bytes);
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        bytes.iter().fold(self, |writer, byte| writer.put([*byte]))
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.put(value.to_le_bytes())
    }

    fn f32(&mut self, value: f32) -> &mut Self {
        self.put(value.to_le_bytes())
    }

    fn string(&mut self, text: &str) -> &mut Self {
        let units: Vec<u16> = text.encode_utf16().collect();
        self.u32(u32::try_from(units.len()).expect("a short text"));
        units.into_iter().fold(self, |writer, unit| writer.put(unit.to_le_bytes()))
    }

    /// One list named `x` of one case with a `u32` as input; what follows is its expectation.
    fn one_case(&mut self) -> &mut Self {
        self.u32(1).string("x").u32(1).bytes(&[0, 0, 4]).u32(7)
    }

    fn file(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.0);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }
}

fn expected(write: impl FnOnce(&mut Writer)) -> Result<Expectation, DecodeError> {
    let mut writer = Writer::default();
    write(writer.one_case());
    let file = decode(&writer.file())?;
    Ok(file.lists[0].cases[0].expected.clone())
}

fn flaw(bytes: &[u8]) -> Flaw {
    decode(bytes).expect_err("the bytes are damaged").flaw
}

/// A file with every kind of value and expectation.
fn everything() -> Vec<u8> {
    let mut w = Writer::default();
    w.u32(2).string("f32_non_const").u32(2);
    w.bytes(&[255]).u32(3);
    w.bytes(&[0, 2]).f32(1.5);
    w.bytes(&[1, 3, 3]);
    for value in [1.0, -2.0, 0.5] {
        w.put(f16::from_f32(value).to_le_bytes());
    }
    w.bytes(&[2, 2, 2, 3]);
    for value in 0..6u8 {
        w.f32(f32::from(value));
    }
    w.bytes(&[5, 0]).u32(2).bytes(&[1, 1, 255]).f32(-1.0).f32(1.0).bytes(&[0, 0, 10, 255]);
    w.bytes(&[0, 0, 11]).put((-5i64).to_le_bytes());
    w.bytes(&[5, 1, 255, 2]).u32(2).bytes(&[2, 0]).bytes(&[0, 255]);
    w.put(f64::NEG_INFINITY.to_le_bytes()).put(f64::INFINITY.to_le_bytes());
    w.string("\u{1F600}").u32(1);
    w.bytes(&[0, 0, 1]).put(2.5f64.to_le_bytes());
    w.bytes(&[5, 2]).string("why");
    w.file()
}

#[test]
fn every_kind_of_item_is_decoded() {
    let file = decode(&everything()).expect("a whole file");
    assert_eq!(file.lists.len(), 2);
    let [first, second] = &file.lists[0].cases[..] else { panic!("two cases were written") };
    let shapes: Vec<String> = first.inputs.iter().map(|input| input.shape().to_string()).collect();
    assert_eq!(shapes, ["f32", "vec3<f16>", "mat2x3<f32>"]);
    assert_eq!(first.inputs[1].parts()[1], Scalar::F16(f16::from_f32(-2.0)));
    assert_eq!(first.inputs[2].parts()[5], Scalar::F32(5.0));
    let interval = Interval { kind: ScalarKind::F32, bounds: Some((-1.0, 1.0)) };
    let yes = Expectation::Value(Scalar::Bool(true).into());
    assert_eq!(first.expected, Expectation::AnyOf(vec![Expectation::Interval(interval), yes]));
    assert_eq!(second.inputs, [Scalar::AbstractInt(-5).into()]);
    let any = Interval { kind: ScalarKind::F16, bounds: None };
    let all = Interval { kind: ScalarKind::AbstractFloat, bounds: Some((f64::NEG_INFINITY, f64::INFINITY)) };
    assert_eq!(second.expected, Expectation::SkipUndefined(Some(Box::new(Expectation::Vector(vec![any, all])))));
    assert_eq!(file.lists[1].name, "\u{1F600}");
    assert_eq!(file.lists[1].cases[0].expected, Expectation::Pass("why".into()));
}

#[test]
fn a_file_that_ends_early_is_an_error_wherever_it_ends() {
    let bytes = everything();
    let content = bytes.iter().rposition(|byte| *byte != 0).expect("there is content") + 1;
    for end in 0..content {
        let error = decode(&bytes[..end]).expect_err("a part of a file is none");
        assert!(matches!(error.flaw, Flaw::Truncated { .. }), "{end}: {error}");
    }
}

#[test]
fn damage_of_any_byte_gives_a_file_or_an_error() {
    let bytes = everything();
    for at in 0..bytes.len() {
        for byte in [0, 1, 5, 127, 128, 255] {
            let mut damaged = bytes.clone();
            damaged[at] = byte;
            if let Err(error) = decode(&damaged) {
                assert!(error.at <= bytes.len(), "{error} lies outside");
            }
        }
    }
}

#[test]
fn counts_that_no_file_holds_end_with_the_bytes() {
    assert!(matches!(flaw(&[255; 64]), Flaw::Truncated { .. } | Flaw::Text));
    let mut w = Writer::default();
    w.u32(1).string("x").u32(u32::MAX);
    assert!(matches!(flaw(&w.file()), Flaw::Truncated { .. }));
}

#[test]
fn each_tag_has_to_name_something() {
    let of = |what, tag| Flaw::Tag { what, tag };
    let flaw = |bytes: &[u8]| {
        expected(|w| {
            w.bytes(bytes);
        })
        .expect_err("the tag names nothing")
        .flaw
    };
    assert_eq!(flaw(&[4]), of("expectation", 4));
    assert_eq!(flaw(&[0, 3, 0]), of("value", 3));
    assert_eq!(flaw(&[0, 0, 12]), of("scalar", 12));
    assert_eq!(flaw(&[1, 3, 0]), of("interval", 3));
    assert_eq!(flaw(&[5, 3]), of("comparator", 3));
    assert_eq!(flaw(&[0, 0, 10, 1]), Flaw::Bool(1));
}

#[test]
fn widths_are_those_of_wgsl() {
    for bytes in [[0, 1, 2, 1], [0, 1, 2, 5], [0, 2, 2, 0]] {
        let error = expected(|w| {
            w.bytes(&bytes);
        })
        .expect_err("no such width");
        assert!(matches!(error.flaw, Flaw::Width(_)), "{error}");
    }
    let five = expected(|w| {
        w.bytes(&[2]).u32(5).bytes(&[1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
    });
    assert_eq!(five.expect_err("a vector of five").flaw, Flaw::Width(5));
    let matrix = |columns: u16, rows: u16, count: u32| {
        expected(|w| {
            w.bytes(&[3]).put(columns.to_le_bytes()).put(rows.to_le_bytes()).u32(count);
            (0..count).for_each(|_| {
                w.bytes(&[1, 0]);
            });
        })
    };
    assert!(matches!(matrix(2, 3, 6), Ok(Expectation::Matrix { columns: 2, rows: 3, .. })));
    assert_eq!(matrix(2, 3, 5).expect_err("one too few").flaw, Flaw::Matrix { columns: 2, rows: 3, count: 5 });
    assert_eq!(matrix(300, 2, 4).expect_err("too wide").flaw, Flaw::Width(300));
}

#[test]
fn bounds_have_an_order() {
    let of = |lower, upper| {
        expected(|w| {
            w.bytes(&[1, 1, 255]).f32(lower).f32(upper);
        })
    };
    assert!(of(1.0, 1.0).is_ok());
    assert_eq!(of(2.0, 1.0).expect_err("upside down").flaw, Flaw::Bounds);
    assert_eq!(of(f32::NAN, 1.0).expect_err("no number").flaw, Flaw::Bounds);
}

#[test]
fn nesting_has_a_bound() {
    let nested = |depth: usize| {
        expected(|w| {
            (0..depth).for_each(|_| {
                w.bytes(&[5, 1, 255]);
            });
            w.bytes(&[5, 1, 0]);
        })
    };
    assert!(nested(7).is_ok());
    assert_eq!(nested(8).expect_err("too deep").flaw, Flaw::Depth);
    assert_eq!(nested(100_000).expect_err("far too deep").flaw, Flaw::Depth);
}

#[test]
fn what_follows_the_last_list_is_padding() {
    let whole = everything();
    let mut longer = whole.clone();
    longer.extend([0; 8]);
    assert!(matches!(flaw(&longer), Flaw::Trailing(_)));
    let mut w = Writer::default();
    let mut empty = w.u32(0).file();
    assert_eq!(decode(&empty), Ok(File { lists: Vec::new() }));
    assert_eq!(flaw(&empty[..4]), Flaw::Trailing(0), "the padding is missing");
    empty[7] = 1;
    assert_eq!(flaw(&empty), Flaw::Trailing(4));
}

#[test]
fn a_name_is_text() {
    let mut w = Writer::default();
    w.u32(1).u32(1).put(0xd800u16.to_le_bytes()).u32(0);
    assert_eq!(flaw(&w.file()), Flaw::Text);
}

#[test]
fn a_list_runs_when_its_values_have_types() {
    let list = |name: &str, input: Option<Scalar>| List {
        name: name.into(),
        cases: input
            .map(|input| Case { inputs: vec![input.into()], expected: Expectation::AnyOf(Vec::new()) })
            .into_iter()
            .collect(),
    };
    assert!(list("f32_non_const", Some(Scalar::F32(0.0))).runs());
    assert!(list("f32", Some(Scalar::F32(0.0))).runs());
    assert!(list("f32_non_const", None).runs(), "an empty list is not left out in silence");
    assert!(!list("f32_const", Some(Scalar::F32(0.0))).runs());
    assert!(!list("abstract", Some(Scalar::AbstractFloat(0.0))).runs());
    assert!(!list("abstract_non_const", None).runs());
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = load(Path::new("no/such.bin")).expect_err("there is none");
    assert!(error.to_string().starts_with("no/such.bin: cannot be read: "), "{error}");
}
