/* Trains the network of build.py on handwritten digits, in C11, without Python:

       train digits.bin [epochs]

   The last quarter of the digits is kept for testing.  The loss of each epoch's last step is
   printed exactly, as a hexadecimal number. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"

enum { BATCH = 32, PIXELS = 64 };

static void check(int32_t status, const char *doing)
{
    if (status != DIGITS_OK) {
        fprintf(stderr, "%s: %s\n", doing, digits_message(status));
        exit(1);
    }
}

/* Memory that begins at a multiple of 64 bytes. */
static void *block(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        fprintf(stderr, "there is no memory\n");
        exit(1);
    }
    return memory;
}

static void read_all(void *place, size_t size, size_t count, FILE *file)
{
    if (fread(place, size, count, file) != count) {
        fprintf(stderr, "the file of digits is too short\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: train digits.bin [epochs]\n");
        return 2;
    }
    const int epochs = argc > 2 ? atoi(argv[2]) : 10;
    int64_t shape[2];
    read_all(shape, sizeof *shape, 2, file);
    if (shape[1] != PIXELS) {
        fprintf(stderr, "these are no digits\n");
        return 1;
    }
    const int64_t n = shape[0], known = n * 3 / 4, rest = n - known;
    float *x = block(sizeof *x * (size_t)(n * PIXELS));
    int64_t *y = block(sizeof *y * (size_t)n), *guess = block(sizeof *guess * (size_t)n);
    read_all(x, sizeof *x, (size_t)(n * PIXELS), file);
    read_all(y, sizeof *y, (size_t)n, file);
    fclose(file);

    /* One workspace serves all calls: the largest that any of them asks for. */
    int64_t bytes = digits_step_workspace(BATCH);
    if (digits_predict_workspace(rest) > bytes)
        bytes = digits_predict_workspace(rest);
    void *workspace = block((size_t)bytes), *state = block(DIGITS_STATE_BYTES);
    check(digits_init(state, DIGITS_STATE_BYTES), "init");

    for (int epoch = 0; epoch < epochs; epoch++) {
        float loss = 0.0f;
        for (int64_t i = 0; i < known; i += BATCH) {
            const int64_t size = i + BATCH < known ? BATCH : known - i;
            check(digits_step(size, x + i * PIXELS, y + i, &loss, state, workspace, (size_t)bytes),
                  "step");
        }
        printf("epoch %d loss %a\n", epoch + 1, (double)loss);
    }
    check(digits_predict(rest, x + known * PIXELS, guess, state, workspace, (size_t)bytes),
          "predict");
    int64_t right = 0;
    for (int64_t i = 0; i < rest; i++)
        right += guess[i] == y[known + i];
    const int64_t *steps = (const int64_t *)((char *)state + DIGITS_AT_OPTIMIZER_STEPS);
    printf("%lld steps, %.1f %% of %lld digits right\n", (long long)*steps,
           100.0 * (double)right / (double)rest, (long long)rest);
    free(x), free(y), free(guess), free(workspace), free(state);
    return 0;
}
