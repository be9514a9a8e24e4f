import { encodeStart, encodeTensor } from './encodeHeader.ts';

/** Bytes of a file to be: a range of a source file, or given. */
export type Piece =
  | { from: 'source'; file: number; offset: number; byteLength: number }
  | { from: 'bytes'; bytes: Uint8Array };

export interface PlannedTensor {
  name: string;
  /** ggml type id. */
  type: number;
  dimensions: readonly number[];
  byteLength: number;
  data: Piece;
}

/** What goes into a GGUF, before its layout is known. */
export interface FileContents {
  alignment: number;
  metadata: readonly { key: string; data: Piece }[];
  tensors: readonly PlannedTensor[];
}

/** A GGUF to be, down to the byte: `pieces` laid end to end, each at its offset, with zeros between them. */
export interface FilePlan extends FileContents {
  pieces: readonly { offset: number; data: Piece }[];
  /** Offset in the file of each tensor's first byte, in the order of `tensors`. */
  tensorOffsets: readonly number[];
  totalBytes: number;
}

/** Lays a GGUF out as llama.cpp writes it: header, then the tensors in order, each padded to the alignment. */
export function layOut(contents: FileContents): FilePlan {
  const { alignment, metadata, tensors } = contents;
  const padded = (bytes: number) => Math.ceil(bytes / alignment) * alignment;
  let dataBytes = 0;
  const lines = tensors.map(({ name, type, dimensions, byteLength }) => {
    const line = encodeTensor({ name, type, dimensions, offset: dataBytes });
    dataBytes += padded(byteLength);
    return line;
  });

  const pieces: { offset: number; data: Piece }[] = [];
  let offset = 0;
  const add = (data: Piece) => {
    pieces.push({ offset, data });
    offset += pieceBytes(data);
  };
  add({ from: 'bytes', bytes: encodeStart(tensors.length, metadata.length) });
  for (const { data } of metadata) add(data);
  add({ from: 'bytes', bytes: Buffer.concat(lines) });
  const tensorOffsets = tensors.map(({ data }) => {
    offset = padded(offset);
    const start = offset;
    add(data);
    return start;
  });
  return { ...contents, pieces, tensorOffsets, totalBytes: padded(offset) };
}

export function pieceBytes(piece: Piece): number {
  return piece.from === 'source' ? piece.byteLength : piece.bytes.byteLength;
}
