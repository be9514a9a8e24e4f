import { createHash } from 'node:crypto';
import { SourceChangedError, TruncatedError } from './ggufError.ts';
import type { ModelSource } from './openModel.ts';
import { type FileReader, openFileReader } from './rangeReader.ts';

/** Pieces of one model, as near as may be; so 256 KiB are read of the largest one as well. */
const PIECES = 256;
const PIECE_BYTES = 1024;
/** Read at a time, since a disk far away takes its time for each. */
const AT_ONCE = 8;

interface Piece {
  file: number;
  offset: number;
  bytes: number;
}

/**
 * SHA-256 in hex of a sample of a model's weights: pieces of 1 KiB, spread evenly over its tensors and within each. Every
 * tensor gives one where there are at most 256. It is what tells checkpoints of one architecture apart before anyone
 * has read them whole. Rejects with a GgufError where a file is not as it was when its header was read.
 */
export async function sampleWeights({ files, tensors }: Pick<ModelSource, 'files' | 'tensors'>): Promise<string> {
  const hash = createHash('sha256');
  const pieces = samplePieces([...tensors.values()]);
  const readers = new Map<number, FileReader>();
  try {
    for (const file of new Set(pieces.map((piece) => piece.file))) {
      const source = files[file];
      if (source === undefined) throw new RangeError(`a tensor lies in file ${file} of ${files.length}`);
      const reader = await openFileReader(source.path);
      readers.set(file, reader);
      if (reader.size !== source.bytes || reader.changedAt !== source.changedAt) {
        throw new SourceChangedError(source.path);
      }
    }
    for (let at = 0; at < pieces.length; at += AT_ONCE) {
      const read = await Promise.all(pieces.slice(at, at + AT_ONCE).map((piece) => readPiece(readers, piece)));
      for (const bytes of read) hash.update(bytes);
    }
    return hash.digest('hex');
  } finally {
    await Promise.all([...readers.values()].map((reader) => reader.close()));
  }
}

/** Deterministic, since every member must come to the same. */
function samplePieces(tensors: readonly { file: number; offset: number; byteLength: number }[]): Piece[] {
  const chosen = Math.min(tensors.length, PIECES);
  const pieces: Piece[] = [];
  for (let index = 0; index < chosen; index++) {
    const tensor = tensors[Math.floor((index * tensors.length) / chosen)];
    if (tensor === undefined) continue;
    const { file, offset, byteLength } = tensor;
    const bytes = Math.min(PIECE_BYTES, byteLength);
    const each = Math.max(1, Math.floor(PIECES / chosen));
    for (let part = 0; part < each; part++) {
      const share = (2 * part + 1) / (2 * each);
      pieces.push({ file, offset: offset + Math.floor((byteLength - bytes) * share), bytes });
    }
  }
  return pieces;
}

async function readPiece(readers: ReadonlyMap<number, FileReader>, { file, offset, bytes }: Piece): Promise<Buffer> {
  const target = Buffer.alloc(bytes);
  const reader = readers.get(file);
  const found = (await reader?.read(offset, target)) ?? 0;
  if (reader !== undefined && found < bytes) throw new TruncatedError(reader.path, offset + bytes, offset + found);
  return target;
}
