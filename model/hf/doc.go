// Package hf reads and writes the files of language models: Hugging Face folders, PEFT
// adapters, safetensors, and GGUF files as if they were such folders. It knows no device.
//
//	config.json, generation_config.json ─┐
//	tokenizer.json ──────────────────────┼─ ReadFolder ─ Folder{Config, Tensors, Tokenizer} ─┬─ Files, AdapterFiles
//	*.safetensors, or model.gguf ────────┘                      │                            └─ WriteGGUF
//	adapter_config.json, adapter_model.safetensors ─ Merge ─────┘
//
// A [Config] describes a decoder of one of [Families]: the keys of its config.json, and what
// the family adds ([Parts]). [Tensors] lists the names and shapes that follow from it;
// [ReadFolder] compares them with the headers of the weights, so that a wrong file is refused
// before its values are read.
//
// # Shapes and units
//
// Matrices are [out][in], row-major; a vector counts as one row. Values are float32: those of
// F16, BF16 and GGUF blocks convert exactly. [TensorSet.Blocks] returns GGUF blocks as they
// are. A value that is NaN or infinite is an error of the read that meets it.
//
// # Memory
//
// A [TensorSet] reads rows when they are asked for. A [NamedTensor] is read when it is written. So
// no more than one tensor is in memory, and less if the caller asks for some rows at a time.
//
// # Threads
//
// A TensorSet may be read by several goroutines at once. Merge changes the folder's tensors:
// call it before others read them.
//
// # Example
//
//	f, err := hf.ReadFolder("models/qwen")
//	if err != nil {
//		return err
//	}
//	defer f.Tensors.Close()
//	if err := f.Merge("adapters/mine"); err != nil {
//		return err
//	}
//	notes, err := hf.WriteGGUF(out, f, "qwen", hf.GGUFTypes[0])
package hf
