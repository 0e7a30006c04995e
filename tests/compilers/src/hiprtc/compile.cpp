// Compiles HIP C++ with hipRTC, one source after another, in a process that may abort: hipRTC ends it on some inputs.
// It runs under the loader of the folder that hipRTC is unpacked in, so it is linked with nothing but the C library.
//
// Arguments: the path of libhiprtc, the folder, the first job to do. The folder has `jobs`, the number of jobs; and for
// each `<job>.source`, and `<job>.options`, one option a line, after a first line with the name for messages. A compile
// leaves `<job>.log`, `<job>.code` where there is code, and at last `<job>.done` with the result code in decimal.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void* Program;
static int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
static int (*compile)(Program, int, const char* const*);
static int (*destroy)(Program*);
static int (*log_size)(Program, size_t*);
static int (*get_log)(Program, char*);
static int (*code_size)(Program, size_t*);
static int (*get_code)(Program, char*);

static const char* folder;

[[noreturn]] static void give_up(const char* what, const char* why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(3);
}

template <typename T>
static void find(void* library, const char* name, T& function) {
    void* found = dlsym(library, name);
    if (found == nullptr) give_up(name, "libhiprtc does not have it");
    memcpy(&function, &found, sizeof found);
}

static FILE* opened(long job, const char* ending, const char* mode) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%ld.%s", folder, job, ending) >= (int)sizeof path) give_up(folder, "a long path");
    FILE* file = fopen(path, mode);
    if (file == nullptr) give_up(path, "it cannot be opened");
    return file;
}

// The content of a file, with a zero byte behind it.
static char* content(long job, const char* ending) {
    FILE* file = opened(job, ending, "rb");
    fseek(file, 0, SEEK_END);
    const long bytes = ftell(file);
    rewind(file);
    char* text = (char*)calloc((size_t)bytes + 1, 1);
    if (text == nullptr || (bytes > 0 && fread(text, (size_t)bytes, 1, file) != 1)) give_up(ending, "it cannot be read");
    fclose(file);
    return text;
}

static void leave(long job, const char* ending, const char* bytes, size_t count) {
    FILE* file = opened(job, ending, "wb");
    if ((count > 0 && fwrite(bytes, count, 1, file) != 1) || fclose(file) != 0) give_up(ending, "it cannot be written");
}

// What a pair of functions gives, left in a file.
static void leave_what(long job, const char* ending, Program program, int (*size)(Program, size_t*),
                       int (*get)(Program, char*)) {
    size_t count = 0;
    if (size(program, &count) != 0) return;
    char* bytes = (char*)calloc(count + 1, 1);
    if (bytes != nullptr && get(program, bytes) == 0) leave(job, ending, bytes, count);
    free(bytes);
}

static void perform(long job) {
    char* source = content(job, "source");
    char* lines = content(job, "options");
    const char* options[64];
    int count = -1;
    const char* name = "source";
    for (char* line = strtok(lines, "\n"); line != nullptr && count < 64; line = strtok(nullptr, "\n")) {
        if (count < 0) name = line;
        else options[count] = line;
        ++count;
    }
    Program program = nullptr;
    int result = create(&program, source, name, 0, nullptr, nullptr);
    if (result == 0) {
        result = compile(program, count, options);
        leave_what(job, "log", program, log_size, get_log);
        if (result == 0) leave_what(job, "code", program, code_size, get_code);
        destroy(&program);
    }
    char text[16];
    leave(job, "done", text, (size_t)snprintf(text, sizeof text, "%d", result));
    free(lines);
    free(source);
}

int main(int words, char** word) {
    if (words != 4) give_up("arguments", "libhiprtc, a folder and a job are expected");
    folder = word[2];
    void* library = dlopen(word[1], RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) give_up(word[1], dlerror());
    find(library, "hiprtcCreateProgram", create);
    find(library, "hiprtcCompileProgram", compile);
    find(library, "hiprtcDestroyProgram", destroy);
    find(library, "hiprtcGetProgramLogSize", log_size);
    find(library, "hiprtcGetProgramLog", get_log);
    find(library, "hiprtcGetCodeSize", code_size);
    find(library, "hiprtcGetCode", get_code);
    char path[4096];
    snprintf(path, sizeof path, "%s/jobs", folder);
    FILE* file = fopen(path, "rb");
    long jobs = 0;
    if (file == nullptr || fscanf(file, "%ld", &jobs) != 1) give_up(path, "it has no number");
    fclose(file);
    for (long job = strtol(word[3], nullptr, 10); job < jobs; ++job) perform(job);
    // The library's own exit handlers have nothing to save, and some versions fail in them.
    fflush(nullptr);
    _Exit(0);
}
