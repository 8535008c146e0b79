/*
 * nvdla.h - the interface under the names that users of NVDLA know.
 *
 * A thin layer over fwgen_accel.h; on a board with a VeriSilicon NPU the same
 * names serve it, so that the application stays as it is. A handle stands for
 * one instance of the accelerator on the board; storage is static, so there are
 * as many handles as instances. All functions are for tasks; none but
 * nvdla_submit blocks. FWGEN_ERROR_ARGUMENT means misuse, which asserts in test
 * builds (FWGEN_TEST_BUILD); the other codes do not.
 *
 * Example:
 *     nvdla_handle dla;
 *     const struct fwgen_model *model = &fwgen_models[0];
 *     const struct fwgen_tensor *in = fwgen_model_input(model, 0);
 *
 *     if (nvdla_create(&dla) == FWGEN_OK &&
 *         nvdla_load(dla, model) == FWGEN_OK &&
 *         fwgen_tensor_write(in, picture, in->size) == FWGEN_OK &&
 *         nvdla_submit(dla, 1000) == FWGEN_OK) {
 *         use(fwgen_model_output(model, 0)->address);
 *     }
 */
#ifndef NVDLA_H
#define NVDLA_H

#include "fwgen_accel.h"

typedef struct nvdla_instance *nvdla_handle;

enum nvdla_pipe_depth {
    NVDLA_PIPE_DEPTH_1 = 1,
    NVDLA_PIPE_DEPTH_2 = 2,
    NVDLA_PIPE_DEPTH_4 = 4,
};

/* hw_version on a board whose CPU runs the models: "CPU" in ASCII. On one with
 * a VeriSilicon NPU it is the NPU's model << 16 | revision. */
#define NVDLA_VERSION_CPU 0x00435055u

struct nvdla_status {
    enum fwgen_device_state state;
    const struct fwgen_model *model; /* loaded, or NULL */
    uint32_t hw_version;             /* of the version register, 0: no answer;
                                        NVDLA_VERSION_CPU where the CPU stands
                                        in for the hardware */
    struct fwgen_report last;        /* of the last nvdla_submit */
    struct fwgen_statistics statistics;
};

/*
 * Hands out the next free instance.
 * Returns FWGEN_OK, FWGEN_ERROR_NO_INSTANCE when all are in use (*handle is
 * NULL then), FWGEN_ERROR_DEVICE when the hardware does not answer with the
 * identity of the board, FWGEN_ERROR_ARGUMENT.
 */
enum fwgen_result nvdla_create(nvdla_handle *handle);

/*
 * Chooses the model that nvdla_submit runs. Its program and weights are in
 * the image; nothing is copied.
 * Returns FWGEN_OK, FWGEN_ERROR_BUSY while an inference of this handle runs, or
 * FWGEN_ERROR_ARGUMENT (NULL handle or model, handle not created, or a model
 * that was compiled for another accelerator).
 */
enum fwgen_result nvdla_load(nvdla_handle handle,
                             const struct fwgen_model *model);

/*
 * Runs the loaded model and waits for it; see fwgen_accel_submit for
 * timeout_ms and codes. FWGEN_ERROR_ARGUMENT when nothing is loaded,
 * FWGEN_ERROR_BUSY when another task's nvdla_submit on this handle is running.
 */
enum fwgen_result nvdla_submit(nvdla_handle handle, uint32_t timeout_ms);

/*
 * Chooses among the programs in the image: NVDLA_PIPE_DEPTH_1, one operation
 * after the other, is always there; 2 or 4 where the image was built with
 * `fwgen build --pipeline` of that depth (docs/pipelining.md), which is also
 * what a handle uses if this is not called. It takes effect with the next
 * nvdla_submit. Returns FWGEN_OK, FWGEN_ERROR_NOT_SUPPORTED for a depth that
 * was not generated, FWGEN_ERROR_ARGUMENT for a number that is none.
 */
enum fwgen_result nvdla_enable_pipeline(nvdla_handle handle,
                                        enum nvdla_pipe_depth depth);

/* Fills *status. Returns FWGEN_OK or FWGEN_ERROR_ARGUMENT. */
enum fwgen_result nvdla_get_status(nvdla_handle handle,
                                   struct nvdla_status *status);

/* Gives the instance back. Returns FWGEN_OK, FWGEN_ERROR_BUSY while an
 * inference of this handle runs, or FWGEN_ERROR_ARGUMENT. */
enum fwgen_result nvdla_destroy(nvdla_handle handle);

#endif
