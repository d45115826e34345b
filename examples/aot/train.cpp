// Trains the network of build.py on handwritten digits, in C++:
//
//     train digits.bin [epochs]
//
// as train.c does, with the state and the workspace in objects that look after them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "digits.h"

namespace {

constexpr std::int64_t batch = 32, pixels = 64;

void check(std::int32_t status)
{
    if (status != DIGITS_OK)
        throw std::runtime_error(digits_message(status));
}

// Memory that begins at a multiple of 64 bytes.
class Block {
public:
    explicit Block(std::size_t bytes)
        : bytes_(bytes), memory_(::operator new(bytes, std::align_val_t{64}))
    {
    }
    ~Block() { ::operator delete(memory_, std::align_val_t{64}); }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
    void *data() const { return memory_; }
    std::size_t size() const { return bytes_; }

private:
    std::size_t bytes_;
    void *memory_;
};

class Network {
public:
    explicit Network(std::int64_t largest)
        : state_(DIGITS_STATE_BYTES), workspace_(needed(largest))
    {
        check(digits_init(state_.data(), state_.size()));
    }

    float step(std::int64_t n, const float *x, const std::int64_t *y)
    {
        float loss = 0.0f;
        check(digits_step(n, x, y, &loss, state_.data(), workspace_.data(), workspace_.size()));
        return loss;
    }

    std::vector<std::int64_t> predict(std::int64_t n, const float *x)
    {
        std::vector<std::int64_t> out(static_cast<std::size_t>(n));
        check(digits_predict(n, x, out.data(), state_.data(), workspace_.data(),
                             workspace_.size()));
        return out;
    }

    std::int64_t steps() const
    {
        const char *place = static_cast<const char *>(state_.data()) + DIGITS_AT_OPTIMIZER_STEPS;
        return *reinterpret_cast<const std::int64_t *>(place);
    }

private:
    static std::size_t needed(std::int64_t largest)
    {
        const std::int64_t step = digits_step_workspace(batch);
        const std::int64_t predict = digits_predict_workspace(largest);
        return static_cast<std::size_t>(step > predict ? step : predict);
    }

    Block state_, workspace_;
};

struct Digits {
    std::int64_t n = 0;
    std::vector<float> x;
    std::vector<std::int64_t> y;
};

Digits read(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    std::int64_t shape[2] = {0, 0};
    file.read(reinterpret_cast<char *>(shape), sizeof shape);
    if (!file || shape[1] != pixels)
        throw std::runtime_error(path + " holds no digits");
    Digits digits;
    digits.n = shape[0];
    digits.x.resize(static_cast<std::size_t>(shape[0] * pixels));
    digits.y.resize(static_cast<std::size_t>(shape[0]));
    file.read(reinterpret_cast<char *>(digits.x.data()),
              static_cast<std::streamsize>(digits.x.size() * sizeof(float)));
    file.read(reinterpret_cast<char *>(digits.y.data()),
              static_cast<std::streamsize>(digits.y.size() * sizeof(std::int64_t)));
    if (!file)
        throw std::runtime_error(path + " is too short");
    return digits;
}

void train(const Digits &digits, int epochs)
{
    const std::int64_t known = digits.n * 3 / 4, rest = digits.n - known;
    Network network(rest);
    for (int epoch = 1; epoch <= epochs; epoch++) {
        float loss = 0.0f;
        for (std::int64_t i = 0; i < known; i += batch) {
            const std::int64_t size = i + batch < known ? batch : known - i;
            loss = network.step(size, digits.x.data() + i * pixels, digits.y.data() + i);
        }
        std::printf("epoch %d loss %a\n", epoch, static_cast<double>(loss));
    }
    const auto guesses = network.predict(rest, digits.x.data() + known * pixels);
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < rest; i++)
        right += guesses[static_cast<std::size_t>(i)] == digits.y[static_cast<std::size_t>(known + i)];
    std::printf("%lld steps, %.1f %% of %lld digits right\n",
                static_cast<long long>(network.steps()),
                100.0 * static_cast<double>(right) / static_cast<double>(rest),
                static_cast<long long>(rest));
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: train digits.bin [epochs]\n");
        return 2;
    }
    try {
        train(read(argv[1]), argc > 2 ? std::atoi(argv[2]) : 10);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
