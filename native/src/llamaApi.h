#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "failure.h"
#include "llama.h"
#include "sharedLibrary.h"

// Which library exports what, on every platform (Windows looks in exactly the one that is asked).
#define ROOMFUL_LLAMA_SYMBOLS(X)        \
  X(llama_backend_init)                 \
  X(llama_log_set)                      \
  X(llama_model_default_params)         \
  X(llama_context_default_params)       \
  X(llama_model_load_from_file)         \
  X(llama_model_free)                   \
  X(llama_init_from_model)              \
  X(llama_free)                         \
  X(llama_attach_threadpool)            \
  X(llama_max_parallel_sequences)       \
  X(llama_n_ctx_seq)                    \
  X(llama_n_batch)                      \
  X(llama_get_memory)                   \
  X(llama_model_get_vocab)              \
  X(llama_model_rope_type)              \
  X(llama_model_n_embd)                 \
  X(llama_model_n_embd_inp)             \
  X(llama_model_n_embd_out)             \
  X(llama_model_n_ctx_train)            \
  X(llama_model_meta_val_str)           \
  X(llama_model_n_layer)                \
  X(llama_model_has_encoder)            \
  X(llama_model_has_decoder)            \
  X(llama_model_is_recurrent)           \
  X(llama_model_is_hybrid)              \
  X(llama_memory_seq_rm)                \
  X(llama_memory_seq_cp)                \
  X(llama_memory_seq_pos_max)           \
  X(llama_memory_clear)                 \
  X(llama_decode)                       \
  X(llama_encode)                       \
  X(llama_pooling_type)                 \
  X(llama_get_embeddings_seq)           \
  X(llama_synchronize)                  \
  X(llama_get_logits_ith)               \
  X(llama_vocab_n_tokens)               \
  X(llama_vocab_is_eog)                 \
  X(llama_vocab_bos)                    \
  X(llama_vocab_eos)                    \
  X(llama_vocab_get_add_bos)            \
  X(llama_vocab_get_text)               \
  X(llama_vocab_type)                   \
  X(llama_tokenize)                     \
  X(llama_token_to_piece)               \
  X(llama_sampler_chain_default_params) \
  X(llama_sampler_chain_init)           \
  X(llama_sampler_chain_add)            \
  X(llama_sampler_init_logit_bias)      \
  X(llama_sampler_init_penalties)       \
  X(llama_sampler_init_top_k)           \
  X(llama_sampler_init_top_p)           \
  X(llama_sampler_init_min_p)           \
  X(llama_sampler_init_temp)            \
  X(llama_sampler_init_grammar)         \
  X(llama_sampler_apply)                \
  X(llama_sampler_accept)               \
  X(llama_sampler_reset)                \
  X(llama_sampler_free)

#define ROOMFUL_GGML_SYMBOLS(X)          \
  X(ggml_backend_load_all_from_path)     \
  X(ggml_backend_dev_count)              \
  X(ggml_backend_dev_get)                \
  X(ggml_backend_dev_by_name)            \
  X(ggml_backend_dev_by_type)

#define ROOMFUL_GGML_BASE_SYMBOLS(X)   \
  X(ggml_log_set)                      \
  X(ggml_backend_dev_type)             \
  X(ggml_backend_dev_backend_reg)      \
  X(ggml_backend_dev_get_props)        \
  X(ggml_backend_dev_supports_op)      \
  X(ggml_backend_dev_init)             \
  X(ggml_backend_free)                 \
  X(ggml_backend_graph_compute)        \
  X(ggml_backend_alloc_ctx_tensors)    \
  X(ggml_backend_buffer_clear)         \
  X(ggml_backend_buffer_free)          \
  X(ggml_backend_reg_name)             \
  X(ggml_backend_reg_get_proc_address) \
  X(ggml_backend_tensor_get)           \
  X(ggml_backend_tensor_set)           \
  X(ggml_init)                         \
  X(ggml_free)                         \
  X(ggml_tensor_overhead)              \
  X(ggml_graph_overhead_custom)        \
  X(ggml_new_tensor_2d)                \
  X(ggml_mul_mat)                      \
  X(ggml_new_graph_custom)             \
  X(ggml_build_forward_expand)         \
  X(ggml_get_type_traits)              \
  X(ggml_row_size)                     \
  X(ggml_nbytes)                       \
  X(ggml_is_contiguous)                \
  X(ggml_fp16_to_fp32_row)             \
  X(ggml_fp32_to_fp16_row)             \
  X(ggml_threadpool_params_default)

namespace roomful {

/** The C functions of llama.cpp and ggml, resolved from prebuilt libraries of the release of the headers. */
struct LlamaApi {
#define ROOMFUL_MEMBER(name) decltype(&::name) name = nullptr;
  ROOMFUL_LLAMA_SYMBOLS(ROOMFUL_MEMBER)
  ROOMFUL_GGML_SYMBOLS(ROOMFUL_MEMBER)
  ROOMFUL_GGML_BASE_SYMBOLS(ROOMFUL_MEMBER)
#undef ROOMFUL_MEMBER

  /**
   * Opens the libraries of a folder, redirects their log and loads every ggml backend found there. Backends register
   * with the process and cannot be unloaded safely, so the libraries stay open until it ends: the first folder that
   * opens is the only one; asking for it again returns the same table. The backends of `fallback`, where given, are
   * loaded when those of the folder find no device beside the CPU.
   */
  static Outcome<const LlamaApi*> open(const std::filesystem::path& folder,
                                       const std::optional<std::filesystem::path>& fallback);

  /** The table of the folder that was opened, null before. */
  static const LlamaApi* opened();
};

struct FreeModel {
  const LlamaApi* api;
  void operator()(llama_model* model) const { api->llama_model_free(model); }
};
using ModelPointer = std::unique_ptr<llama_model, FreeModel>;

struct FreeContext {
  const LlamaApi* api;
  void operator()(llama_context* context) const { api->llama_free(context); }
};
using ContextPointer = std::unique_ptr<llama_context, FreeContext>;

}  // namespace roomful
