import type { RangeReader } from './rangeReader.ts';

/** Says what a file without the GGUF magic seems to be, as the rest of a sentence that starts with its name. */
export async function identifyFile(reader: RangeReader): Promise<string> {
  const head = Buffer.alloc(Math.min(512, reader.size));
  await reader.read(0, head);
  const text = head.toString('latin1');
  const start = text.trimStart().toLowerCase();
  if (text.startsWith('version https://git-lfs')) {
    return "is a Git LFS pointer, not the model; fetch the real file with 'git lfs pull' or from the model's page.";
  }
  if (start.startsWith('<!doctype html') || start.startsWith('<html')) {
    return 'is a web page, not a model; use the download link of the file itself.';
  }
  if (text.startsWith('PK\u0003\u0004')) return 'is a zip archive or PyTorch checkpoint, not a GGUF; get a .gguf file.';
  if (head.length > 10 && head.readUInt32LE(4) === 0 && text[8] === '{') {
    return 'is a safetensors file, not a GGUF; get a .gguf file or convert it.';
  }
  if (text.startsWith('ggml') || /^(lmgg|fmgg|tjgg|algg)/.test(text)) {
    return 'is a model of the old GGML format, not a GGUF; get a .gguf file.';
  }
  if (text.startsWith('\u001f\u008b') || text.startsWith('7z\u00bc\u00af')) {
    return 'is a compressed archive; unpack it first.';
  }
  if (head.every((byte) => byte === 0)) return 'is not a GGUF: it starts with zeros, as an unfinished download does.';
  return 'is not a GGUF file.';
}
