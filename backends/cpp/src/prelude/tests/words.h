// Input and output of the test programs: words of 64 bits.

#include <cstdio>
#include <vector>
static inline std::vector<wg::u64> read_words() {
    std::vector<wg::u64> words;
    for (wg::u64 word; std::fread(&word, 8, 1, stdin) == 1;) words.push_back(word);
    return words;
}
// The bytes of a value, the first lowest.
template <typename T> static inline void give(const T& value) {
    static_assert(sizeof(T) <= 8, "a word");
    wg::u64 word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    std::fwrite(&word, 8, 1, stdout);
}
