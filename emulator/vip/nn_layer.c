/*
 * nn_layer.c - the NN descriptor: fields, what is refused, limits of work.
 *
 * Field positions: Mesa's etnaviv driver and observation of compiled models
 * (docs/vip-model.md). Fields that only steer caches and tiles of the hardware
 * have no effect here and are not looked at. A field that has one value in all
 * known models must have that value.
 */
#include "nn.h"

#include <inttypes.h>

struct fixed_field {
    uint8_t word, low, count, value;
    const char *name;
};

static const struct fixed_field fixed_fields[] = {
    {0, 0, 1, 0, "layer type"},
    {0, 30, 1, 0, "PReLU"},
    {0, 31, 1, 1, "layer flush"},
    {1, 0, 2, 0, "kernel type (only uint8 is modelled)"},
    {1, 2, 2, 0, "input type (only uint8 is modelled)"},
    {1, 4, 2, 0, "output type (only uint8 is modelled)"},
    {2, 7, 1, 0, "brick mode"},
    {4, 14, 2, 1, "rounding mode (only ties to even are modelled)"},
    {15, 0, 2, 0, "border mode (only a constant is modelled)"},
    {15, 19, 3, 0, "element types (only uint8 is modelled)"},
    {18, 26, 1, 0, "multiplier per channel"},
};

/* GL_NN_CONFIG: number of cores, 0 for all of them. */
static uint32_t config_cores(const struct vip_job_facts *facts)
{
    return facts->nn_config >> 8 & 15u;
}

static bool refuse(const struct vip_memory *memory,
                   const uint32_t words[VIP_JOB_WORDS],
                   const struct fixed_field *field)
{
    return vip_job_error(
        memory, "NN word %u bits %u..%u = %u: %s", (unsigned)field->word,
        (unsigned)field->low, (unsigned)field->low + field->count - 1u,
        (unsigned)vip_bits(words, field->word, field->low, field->count),
        field->name);
}

static bool check_fixed(const struct vip_memory *memory,
                        const struct vip_job_facts *facts,
                        const uint32_t words[VIP_JOB_WORDS])
{
    bool v8 = facts->generation == VIP_V8;
    const struct fixed_field z_offset = {
        0, 1, 1, v8,
        v8 ? "output planes at given offsets, on V8"
           : "output planes at computed offsets, on V7"};
    static const struct fixed_field depthwise = {22, 17, 1, 0,
                                                 "depthwise, on V7"};

    for (size_t i = 0; i < sizeof fixed_fields / sizeof fixed_fields[0]; i++) {
        const struct fixed_field *field = &fixed_fields[i];

        if (vip_bits(words, field->word, field->low, field->count) !=
            field->value) {
            return refuse(memory, words, field);
        }
    }
    if (vip_bits(words, 0, 1, 1) != z_offset.value) {
        return refuse(memory, words, &z_offset);
    }
    if (!v8 && vip_bits(words, 22, 17, 1) != 0) {
        return refuse(memory, words, &depthwise);
    }
    if (config_cores(facts) != 0 && config_cores(facts) != facts->nn_cores) {
        return vip_job_error(memory,
                             "GL_NN_CONFIG bits 8..11 = %u: jobs on some of "
                             "the %u cores are not modelled",
                             (unsigned)config_cores(facts), facts->nn_cores);
    }
    return true;
}

/* Two's complement number of `bits` bits. */
static int32_t signed_field(uint32_t value, unsigned bits)
{
    uint32_t sign = 1u << (bits - 1u);

    return (int32_t)(value & (sign - 1u)) - (int32_t)(value & sign);
}

static void read_arithmetic(const struct vip_job_facts *facts,
                            const uint32_t words[VIP_JOB_WORDS],
                            struct nn_layer *layer)
{
    uint32_t x = vip_bits(words, 4, 16, 1) << 3 | vip_bits(words, 2, 0, 3);
    uint32_t y = vip_bits(words, 4, 17, 1) << 3 | vip_bits(words, 2, 3, 3);
    uint32_t fraction = vip_bits(words, 2, 26, 1) |
                        vip_bits(words, 15, 22, 6) << 1 |
                        vip_bits(words, 17, 24, 8) << 7;

    layer->shift = signed_field(
        vip_bits(words, 15, 28, 2) << 5 | vip_bits(words, 2, 27, 5), 7);
    if (facts->generation == VIP_V8) {
        layer->x_offset = signed_field(x | vip_bits(words, 18, 29, 1) << 4, 5);
        layer->y_offset = signed_field(y | vip_bits(words, 18, 30, 1) << 4, 5);
        layer->multiplier =
            1u << 23 | vip_bits(words, 22, 18, 8) << 15 | fraction;
        layer->shift += 23;
    } else {
        layer->x_offset = signed_field(x, 4);
        layer->y_offset = signed_field(y, 4);
        layer->multiplier = 1u << 15 | fraction;
    }
}

static void read_fields(const uint32_t words[VIP_JOB_WORDS],
                        struct nn_layer *layer)
{
    layer->depthwise = vip_bits(words, 22, 17, 1) != 0;
    layer->kernel_width = vip_bits(words, 0, 2, 4);
    layer->kernel_height = vip_bits(words, 8, 12, 4);
    layer->kernels = vip_bits(words, 4, 0, 14);
    layer->channels = layer->depthwise ? layer->kernels
                                       : vip_bits(words, 5, 26, 6) << 14 |
                                             vip_bits(words, 0, 6, 14);
    layer->depth = layer->depthwise ? 1u : layer->channels;
    layer->kernels_per_core = vip_bits(words, 0, 20, 7);
    layer->relu = vip_bits(words, 2, 24, 1) != 0;
    layer->in_width = vip_bits(words, 1, 6, 13);
    layer->in_height = vip_bits(words, 1, 19, 13);
    layer->border = (uint8_t)vip_bits(words, 15, 2, 8);
    layer->in.address = words[6];
    layer->in.row = vip_bits(words, 16, 0, 16);
    layer->in.plane_rows = vip_bits(words, 16, 16, 16);
    layer->in.ring = vip_ring_of(words[20], words[21]);
    layer->conv_width = vip_bits(words, 3, 6, 13);
    layer->conv_height = vip_bits(words, 3, 19, 13);
    layer->out.address = words[7];
    layer->out.row = vip_bits(words, 17, 0, 16);
    layer->out.plane_rows = vip_bits(words, 8, 16, 16);
    layer->out.ring = vip_ring_of(words[18], words[19]);
    layer->coefficients = (uint64_t)vip_bits(words, 5, 0, 26) << 6;
    layer->weight_zero = (uint8_t)vip_bits(words, 22, 0, 8);
    layer->out_zero = (uint8_t)vip_bits(words, 22, 8, 8);
}

static bool read_pooling(const struct vip_memory *memory,
                         const uint32_t words[VIP_JOB_WORDS],
                         struct nn_layer *layer)
{
    uint32_t mode = vip_bits(words, 0, 27, 2);

    layer->pooling = NN_POOL_NONE;
    layer->out_width = layer->conv_width;
    layer->out_height = layer->conv_height;
    if (mode == 0) {
        return true;
    }
    if (mode == 2u || vip_bits(words, 0, 29, 1) != 0) {
        return vip_job_error(memory,
                             "NN word 0 bits 27..29 = %u: only pooling of 2 x "
                             "2 pixels by maximum or first one is modelled",
                             (unsigned)vip_bits(words, 0, 27, 3));
    }
    layer->pooling = mode == 1u ? NN_POOL_MAX : NN_POOL_FIRST;
    layer->out_width = (layer->conv_width + 1u) / 2u;
    layer->out_height = (layer->conv_height + 1u) / 2u;
    return true;
}

static bool check_sizes(const struct vip_memory *memory,
                        const uint32_t words[VIP_JOB_WORDS],
                        const struct nn_layer *layer)
{
    const struct {
        uint32_t value;
        const char *name;
    } sizes[] = {
        {layer->kernel_width, "word 0: kernel x size"},
        {layer->kernel_height, "word 8: kernel y size"},
        {layer->channels, "word 0: kernel z size"},
        {layer->kernels, "word 4: output z size"},
        {layer->depthwise ? 1u : layer->kernels_per_core,
         "word 0: kernels per core"},
        {layer->in_width, "word 1: input width"},
        {layer->in_height, "word 1: input height"},
        {layer->conv_width, "word 3: output width"},
        {layer->conv_height, "word 3: output height"},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].value == 0) {
            return vip_job_error(memory, "NN %s is 0", sizes[i].name);
        }
    }
    if (vip_bits(words, 15, 10, 8) != 0) {
        return vip_job_error(memory,
                             "NN word 15: border constant %u is no uint8",
                             (unsigned)vip_bits(words, 15, 2, 16));
    }
    if (layer->out_height > 1u && layer->out.row < layer->out_width) {
        return vip_job_error(
            memory, "NN word 17: output x stride %u, rows have %u bytes",
            (unsigned)layer->out.row, (unsigned)layer->out_width);
    }
    if (layer->kernels > 1u && layer->out.plane_rows < layer->out_height) {
        return vip_job_error(memory,
                             "NN word 8: output y stride %u, planes have %u "
                             "rows",
                             (unsigned)layer->out.plane_rows,
                             (unsigned)layer->out_height);
    }
    return true;
}

static bool check_work(const struct vip_memory *memory,
                       const struct vip_job_facts *facts,
                       const struct nn_layer *layer)
{
    uint64_t kernel = nn_kernel_size(layer);
    uint64_t outputs =
        (uint64_t)layer->conv_width * layer->conv_height * layer->kernels;
    uint64_t window = (uint64_t)(layer->conv_width + layer->kernel_width) *
                      (layer->conv_height + layer->kernel_height);

    if (kernel > NN_MAX_KERNEL) {
        return vip_job_error(memory,
                             "NN words 0, 5, 8: kernels of %" PRIu64
                             " weights are more than is emulated",
                             kernel);
    }
    if (kernel > facts->max_macs / outputs) {
        return vip_job_error(memory,
                             "NN words 0, 3, 4: %" PRIu64 " outputs of %" PRIu64
                             " products are more than is emulated",
                             outputs, kernel);
    }
    if (outputs > facts->max_elements || window > facts->max_elements ||
        layer->channels > facts->max_elements / window ||
        kernel * layer->kernels > facts->max_elements) {
        return vip_job_error(memory,
                             "NN words 0, 1, 3, 4: %" PRIu64 " pixels of %u "
                             "channels, %" PRIu64 " outputs and %u kernels of "
                             "%" PRIu64 " weights are more than is emulated",
                             window, (unsigned)layer->channels, outputs,
                             (unsigned)layer->kernels, kernel);
    }
    return true;
}

bool nn_layer_read(const struct vip_memory *memory,
                   const struct vip_job_facts *facts,
                   const uint32_t words[VIP_JOB_WORDS], struct nn_layer *layer)
{
    if (!check_fixed(memory, facts, words)) {
        return false;
    }
    read_fields(words, layer);
    read_arithmetic(facts, words, layer);
    return read_pooling(memory, words, layer) &&
           check_sizes(memory, words, layer) &&
           check_work(memory, facts, layer);
}
