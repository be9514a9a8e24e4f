import { type GgmlType, ggmlType, tensorBytes } from './ggmlType.ts';
import { MalformedError, NotGgufError, oneLine, TruncatedError } from './ggufError.ts';
import { HeaderCursor } from './headerCursor.ts';
import { identifyFile } from './identifyFile.ts';
import { Metadata, type MetadataEntry } from './metadata.ts';
import type { RangeReader } from './rangeReader.ts';
import { decodeFixed, type FixedType, fixedBytes, type ValueType, valueTypes } from './valueType.ts';

export interface TensorInfo {
  name: string;
  /** The file of its set that holds it, counted from 0. */
  file: number;
  type: GgmlType;
  /** Lengths, fastest first: [columns, rows, ...]; at most four. */
  dimensions: readonly number[];
  byteLength: number;
  /** Of the first byte, from the start of the file. */
  offset: number;
}

export interface GgufHeader {
  path: string;
  /** Tensor data starts at multiples of this many bytes. */
  alignment: number;
  metadata: Metadata;
  /** In the order of the file. */
  tensors: Map<string, TensorInfo>;
  /** Bytes from the file's first one up to the last tensor's line. */
  byteLength: number;
  /** Of those, in hex. */
  sha256: string;
}

/** More than any model has by far; they bound the memory that a header can take. */
export const mostTensors = 1 << 17;
const mostEntries = 1 << 16;
const longestKey = 65_535;
/** The longest string value; the longest known chat templates take some 100 KB. */
const longestString = 8 << 20;
/** Arrays of numbers up to this many bytes are kept; larger ones stay in the file. */
const keptArrayBytes = 1 << 14;
/** Strings and arrays kept of one header, in bytes. */
const mostKeptBytes = 64 << 20;
/** ggml keeps 64 bytes for a name, the last of them zero. */
const longestTensorName = 63;
const largestAlignment = 1 << 20;

/**
 * Reads the header of a GGUF (version 2 or 3, little endian; the layout is at the top of ggml's gguf.h). Holds to what
 * llama.cpp accepts and never allocates by a length that it has not checked. Rejects with `NotGgufError`,
 * `TruncatedError` or `MalformedError`.
 */
export async function readHeader(reader: RangeReader): Promise<GgufHeader> {
  const { path } = reader;
  const cursor = new HeaderCursor(reader);
  await readMagic(reader, cursor);
  await cursor.fill(16);
  // A tensor takes 25 bytes at least, an entry 14.
  const tensorCount = readCount(cursor, { what: 'tensors', leastBytes: 25, most: mostTensors });
  const entryCount = readCount(cursor, { what: 'metadata entries', leastBytes: 14, most: mostEntries });
  const metadata = await readMetadata(cursor, entryCount);
  const alignment = readAlignment(path, metadata);
  const tensors = await readTensors(cursor, tensorCount);
  placeTensors(reader, tensors, cursor.offset, alignment);
  return { path, alignment, metadata, tensors, byteLength: cursor.offset, sha256: cursor.digest() };
}

async function readMagic(reader: RangeReader, cursor: HeaderCursor): Promise<void> {
  const { path } = reader;
  if (reader.size === 0) throw new NotGgufError(path, 'is empty; download it again.');
  await cursor.fillUpTo(Math.min(8, reader.size));
  if (reader.size < 4 || cursor.u32() !== 0x46554747) throw new NotGgufError(path, await identifyFile(reader));
  await cursor.fill(4);
  const version = cursor.u32();
  if (version !== 0 && (version & 0xffff) === 0) {
    throw new NotGgufError(path, 'is a big-endian GGUF; this computer needs the little-endian one.');
  }
  if (version === 1) throw new NotGgufError(path, 'is a GGUF of version 1, which is no longer read; get a newer file.');
  if (version !== 2 && version !== 3) {
    throw new NotGgufError(path, `claims GGUF version ${version}; versions 2 and 3 are known.`);
  }
}

interface CountBounds {
  what: string;
  /** Bytes that each takes at least. */
  leastBytes: number;
  most: number;
}

/** Reads a count of 64 bits that has been filled. */
function readCount(cursor: HeaderCursor, { what, leastBytes, most }: CountBounds): number {
  const count = cursor.u64();
  if (count > most) throw new MalformedError(cursor.path, `it claims ${cursor.lastU64()} ${what}, more than ${most}`);
  if (count * leastBytes > cursor.remaining) {
    throw new TruncatedError(cursor.path, cursor.offset + count * leastBytes, cursor.offset + cursor.remaining);
  }
  return count;
}

async function readMetadata(cursor: HeaderCursor, count: number): Promise<Metadata> {
  const entries = new Map<string, MetadataEntry>();
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const offset = cursor.offset;
    const key = await readText(cursor, 'a metadata key', longestKey);
    if (key === '') throw new MalformedError(cursor.path, `metadata entry ${index} has no key`);
    if (entries.has(key)) throw new MalformedError(cursor.path, `metadata key '${oneLine(key)}' comes twice`);
    const value = await readValue(cursor, key);
    entries.set(key, { key, ...value, offset, byteLength: cursor.offset - offset });
    kept += value.type === 'array' ? key.length + (value.bytes?.byteLength ?? 0) : cursor.offset - offset;
    if (kept > mostKeptBytes) throw new MalformedError(cursor.path, `its metadata holds over ${mostKeptBytes} bytes`);
  }
  return new Metadata(cursor.path, entries);
}

type EntryValue<Entry> = Entry extends MetadataEntry ? Omit<Entry, 'key' | 'offset' | 'byteLength'> : never;

async function readValue(cursor: HeaderCursor, key: string): Promise<EntryValue<MetadataEntry>> {
  const type = await readType(cursor, key);
  if (type === 'string') return { type, value: await readText(cursor, `'${oneLine(key)}'`, longestString) };
  if (type === 'array') return readArray(cursor, key);
  const size = fixedBytes[type];
  if (cursor.lacks(size)) await cursor.fill(size);
  return { type, value: decodeFixed(type, new DataView(cursor.bytes(size).buffer), 0) };
}

async function readArray(cursor: HeaderCursor, key: string): Promise<EntryValue<MetadataEntry>> {
  const element = await readType(cursor, key);
  if (element === 'array') throw new MalformedError(cursor.path, `'${oneLine(key)}' is an array of arrays`);
  if (cursor.lacks(8)) await cursor.fill(8);
  const leastBytes = element === 'string' ? 8 : fixedBytes[element];
  const count = readCount(cursor, { what: `values in '${oneLine(key)}'`, leastBytes, most: 2 ** 32 });
  if (element === 'string') {
    await skipTexts(cursor, key, count);
    return { type: 'array', element, count, bytes: null };
  }
  return { type: 'array', element, count, bytes: await readElements(cursor, element, count) };
}

async function readElements(
  cursor: HeaderCursor,
  element: FixedType,
  count: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const byteLength = count * fixedBytes[element];
  if (byteLength > keptArrayBytes) {
    await cursor.pass(byteLength);
    return null;
  }
  if (cursor.lacks(byteLength)) await cursor.fill(byteLength);
  return cursor.bytes(byteLength);
}

async function readType(cursor: HeaderCursor, key: string): Promise<ValueType> {
  if (cursor.lacks(4)) await cursor.fill(4);
  const id = cursor.u32();
  const type = valueTypes[id];
  if (type === undefined) throw new MalformedError(cursor.path, `'${oneLine(key)}' has the unknown type ${id}`);
  return type;
}

async function readText(cursor: HeaderCursor, what: string, longest: number): Promise<string> {
  if (cursor.lacks(8)) await cursor.fill(8);
  const byteLength = cursor.u64();
  if (byteLength > longest) {
    throw new MalformedError(cursor.path, `${what} claims to be a string of ${cursor.lastU64()} bytes`);
  }
  if (cursor.lacks(byteLength)) await cursor.fill(byteLength);
  return cursor.text(byteLength);
}

/** Walks over strings without keeping them; waits only where the window ends, as vocabularies are long. */
async function skipTexts(cursor: HeaderCursor, key: string, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    if (cursor.lacks(8)) await cursor.fill(8);
    const byteLength = cursor.u64();
    if (byteLength > longestString) {
      const bytes = cursor.lastU64();
      throw new MalformedError(cursor.path, `'${oneLine(key)}' claims to hold a string of ${bytes} bytes`);
    }
    if (cursor.lacks(byteLength)) await cursor.pass(byteLength);
    else cursor.skip(byteLength);
  }
}

function readAlignment(path: string, metadata: Metadata): number {
  const entry = metadata.get('general.alignment');
  if (entry === undefined) return 32;
  const alignment = entry.type === 'u32' ? Number(entry.value) : 0;
  const isPower = alignment > 0 && (alignment & (alignment - 1)) === 0;
  if (!isPower || alignment > largestAlignment) {
    throw new MalformedError(path, `'general.alignment' should be a 32-bit power of two up to ${largestAlignment}`);
  }
  return alignment;
}

async function readTensors(cursor: HeaderCursor, count: number): Promise<Map<string, TensorInfo>> {
  const tensors = new Map<string, TensorInfo>();
  // Name, dimensions, type and offset of one tensor at their longest.
  const longestInfo = 8 + longestTensorName + 4 + 4 * 8 + 4 + 8;
  for (let index = 0; index < count; index++) {
    if (cursor.lacks(longestInfo)) await cursor.fillUpTo(longestInfo);
    const tensor = readTensor(cursor, index);
    tensors.set(tensor.name, tensor);
    if (tensors.size === index) throw badTensor(cursor, tensor.name, 'comes twice');
  }
  return tensors;
}

function readTensor(cursor: HeaderCursor, index: number): TensorInfo {
  const nameBytes = cursor.u64();
  if (nameBytes > longestTensorName || nameBytes === 0) {
    throw new MalformedError(
      cursor.path,
      `the name of tensor ${index} claims ${cursor.lastU64()} bytes, not 1 to ${longestTensorName}`,
    );
  }
  const name = cursor.text(nameBytes);
  const dimensionCount = cursor.u32();
  if (dimensionCount > 4) throw badTensor(cursor, name, `claims ${dimensionCount} dimensions`);
  // Of its final length at once: one that grows keeps room for sixteen more.
  const dimensions = new Array<number>(dimensionCount);
  for (let dimension = 0; dimension < dimensionCount; dimension++) {
    const length = cursor.u64();
    if (length === 0 || !Number.isSafeInteger(length)) {
      throw badTensor(cursor, name, `has a dimension of ${cursor.lastU64()}`);
    }
    dimensions[dimension] = length;
  }
  const typeId = cursor.u32();
  const type = ggmlType(typeId);
  if (type === undefined) throw badTensor(cursor, name, `has the type ${typeId}, which this version does not know`);
  const byteLength = tensorBytes(type, dimensions);
  if (byteLength === null)
    throw badTensor(cursor, name, `cannot have the shape ${dimensions.join(' x ')} in ${type.name}`);
  const offset = cursor.u64();
  if (!Number.isSafeInteger(offset)) throw badTensor(cursor, name, `lies at ${cursor.lastU64()} of the data`);
  return { name, file: 0, type, dimensions, byteLength, offset };
}

function badTensor({ path }: HeaderCursor, name: string, problem: string): MalformedError {
  return new MalformedError(path, `the tensor '${oneLine(name)}' ${problem}`);
}

/**
 * Turns offsets from the start of the data into offsets from the start of the file. As llama.cpp does, it wants the
 * tensors back to back in the order of the header, each padded to the alignment.
 */
function placeTensors(
  reader: RangeReader,
  tensors: ReadonlyMap<string, TensorInfo>,
  headerEnd: number,
  alignment: number,
): void {
  const dataStart = Math.ceil(headerEnd / alignment) * alignment;
  let expected = 0;
  let end = 0;
  for (const tensor of tensors.values()) {
    if (tensor.offset !== expected) {
      throw new MalformedError(
        reader.path,
        `the tensor '${oneLine(tensor.name)}' lies at ${tensor.offset} of the data, where ${expected} is due`,
      );
    }
    tensor.offset = dataStart + expected;
    end = tensor.offset + tensor.byteLength;
    expected += Math.ceil(tensor.byteLength / alignment) * alignment;
    if (!Number.isSafeInteger(dataStart + expected)) {
      throw new MalformedError(reader.path, `its tensors claim more bytes than any disk holds`);
    }
  }
  if (end > reader.size) throw new TruncatedError(reader.path, end, reader.size);
}
