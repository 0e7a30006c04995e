// Runs the kernels of one program on jobs that a file describes. Each buffer is allocated at exactly its size, so that the
// address sanitizer sees every access beside it.
//
// Arguments: the folder, the first job to do, seconds for each. The folder's `jobs` holds 64-bit words, and bytes padded
// to whole words: the number of jobs, then for each
//     kernel, groups in x, y and z, number of buffers, {bytes, content}..., number of parameters, {kind, operand, ...}...
// where a parameter of kind 0 is a value of `operand` bytes, which follow, and one of kind 1 the address of buffer
// `operand`. `<job>.done` gets the bytes of all buffers when the job is done.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

struct Entry {
    void (*run)(const unsigned groups[3], void* const* args);
};
extern "C" const Entry graphreel_kernels[];
extern "C" const unsigned graphreel_kernel_count;

namespace {

[[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "the job file or its folder: %s\n", what);
    std::exit(3);
}

struct Reader {
    std::FILE* file;

    std::uint64_t word() {
        std::uint64_t value = 0;
        if (std::fread(&value, sizeof value, 1, file) != 1) give_up("ends early");
        return value;
    }

    // At least one byte is asked for, of which the caller uses `bytes`.
    void* block(std::uint64_t bytes) {
        void* memory = std::malloc(bytes);
        if (bytes != 0 && (memory == nullptr || std::fread(memory, bytes, 1, file) != 1)) give_up("ends early");
        char padding[8];
        const std::uint64_t rest = (8 - bytes % 8) % 8;
        if (rest != 0 && std::fread(padding, rest, 1, file) != 1) give_up("ends early");
        return memory;
    }
};

struct Block {
    void* memory;
    std::uint64_t bytes;
};

// Reads one job whole, and runs it unless it is to be passed over.
void perform(Reader& reader, const std::string& folder, std::uint64_t job, bool passed_over, unsigned seconds) {
    const std::uint64_t kernel = reader.word();
    if (kernel >= graphreel_kernel_count) give_up("names no kernel");
    unsigned groups[3];
    for (unsigned& count : groups) count = static_cast<unsigned>(reader.word());
    std::vector<Block> buffers(reader.word());
    for (Block& buffer : buffers) {
        buffer.bytes = reader.word();
        buffer.memory = reader.block(buffer.bytes);
    }
    std::vector<void*> values(reader.word()), args;
    for (void*& value : values) {
        const std::uint64_t kind = reader.word(), operand = reader.word();
        value = kind == 0 ? reader.block(operand) : std::malloc(sizeof(void*));
        if (kind != 0) std::memcpy(value, &buffers.at(operand).memory, sizeof(void*));
        args.push_back(value);
    }
    if (!passed_over) {
        // Whoever waits for this process takes the signal's default action for a kernel that does not end.
        alarm(seconds);
        graphreel_kernels[kernel].run(groups, args.data());
        alarm(0);
        const std::string path = folder + "/" + std::to_string(job);
        std::FILE* out = std::fopen((path + ".part").c_str(), "wb");
        if (out == nullptr) give_up("cannot be written");
        for (const Block& buffer : buffers) {
            if (buffer.bytes != 0 && std::fwrite(buffer.memory, buffer.bytes, 1, out) != 1) give_up("cannot be written");
        }
        if (std::fclose(out) != 0 || std::rename((path + ".part").c_str(), (path + ".done").c_str()) != 0) {
            give_up("cannot be written");
        }
    }
    for (void* value : values) std::free(value);
    for (const Block& buffer : buffers) std::free(buffer.memory);
}

} // namespace

int main(int count, char** words) {
    if (count != 4) give_up("is not named");
    const std::string folder = words[1];
    const std::uint64_t first = std::strtoull(words[2], nullptr, 10);
    Reader reader{std::fopen((folder + "/jobs").c_str(), "rb")};
    if (reader.file == nullptr) give_up("cannot be read");
    const std::uint64_t jobs = reader.word();
    for (std::uint64_t job = 0; job < jobs; ++job) {
        perform(reader, folder, job, job < first, static_cast<unsigned>(std::strtoul(words[3], nullptr, 10)));
    }
    std::fclose(reader.file);
    return 0;
}
