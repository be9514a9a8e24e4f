import { basename, dirname, join } from 'node:path';
import {
  GgufError,
  MalformedError,
  MissingShardError,
  NotAModelError,
  oneLine,
  ShardsDifferError,
} from './ggufError.ts';
import type { Metadata } from './metadata.ts';
import { type ModelSummary, summarise } from './modelSummary.ts';
import { type FileReader, openFileReader } from './rangeReader.ts';
import { type GgufHeader, mostTensors, readHeader, type TensorInfo } from './readHeader.ts';
import { sampleWeights } from './sampleWeights.ts';

/** A file as it was when its header was read. */
export interface SourceFile {
  path: string;
  bytes: number;
  /** Time of its last change, milliseconds since 1970. */
  changedAt: number;
  /** Bytes of its header, from the first one up to the last tensor's line. */
  headerBytes: number;
  /** SHA-256 of those in hex. */
  headerSha256: string;
}

/** A model on disk, in one file or a split set: plain data, nothing stays open. */
export interface ModelSource {
  /** In the order of the set; the first holds the metadata. */
  files: SourceFile[];
  architecture: string;
  /** Transformer blocks, at least 1. */
  layers: number;
  alignment: number;
  metadata: Metadata;
  /** Of all files. */
  tensors: ReadonlyMap<string, TensorInfo>;
  /** Bytes of all tensors. */
  tensorBytes: number;
  /** SHA-256 in hex of some bytes of the weights, see `sampleWeights`. */
  sampleSha256: string;
  summary: ModelSummary;
}

/** llama.cpp's LLAMA_MAX_LAYERS. */
const mostLayers = 512;
/** `split.count` is 16 bits, the name five digits; real sets stay far below. */
const mostShards = 1024;

/**
 * Reads the headers of a model, given its only file or any file of its split set. Rejects with a `GgufError` whose
 * message names the problem and the file in one line.
 */
export async function openModel(path: string): Promise<ModelSource> {
  const given = await readFile(path);
  const count = given.header.metadata.count('split.count') ?? 1;
  const model = count <= 1 ? modelOf(given.header, [partOf(given)]) : await readShards(given, count);
  return { ...model, sampleSha256: await sampleWeights(model) };
}

/**
 * The same for files that lie elsewhere, of which `readers` give the headers, in the order of the set. What they read as
 * tensor data is of no account; `sampleSha256` is what their holder says of it.
 */
export async function openModelOf(readers: readonly FileReader[], sampleSha256: string): Promise<ModelSource> {
  const [firstReader, ...others] = readers;
  if (firstReader === undefined) throw new RangeError('a model has at least one file');
  const { header: first, file } = await readFrom(firstReader);
  const count = first.metadata.count('split.count') ?? 1;
  if (Math.max(count, 1) !== readers.length) {
    throw new ShardsDifferError(first.path, `it is one of ${count} files, not of ${readers.length}`);
  }
  if (count > 1) checkShard(first, 0, count);
  const parts = [partOf({ header: first, file })];
  for (const [index, reader] of others.entries()) {
    const read = await readFrom(reader);
    checkShard(read.header, index + 1, count);
    parts.push(partOf(read));
  }
  return { ...modelOf(first, parts), sampleSha256 };
}

interface ReadFile {
  header: GgufHeader;
  file: SourceFile;
}

/** What is kept of each file of a set. */
interface Part {
  file: SourceFile;
  tensors: ReadonlyMap<string, TensorInfo>;
  architecture: string | undefined;
}

async function readFile(path: string): Promise<ReadFile> {
  const reader = await openFileReader(path);
  try {
    return await readFrom(reader);
  } finally {
    await reader.close();
  }
}

async function readFrom(reader: FileReader): Promise<ReadFile> {
  const header = await readHeader(reader);
  const { path, size: bytes, changedAt } = reader;
  return { header, file: { path, bytes, changedAt, headerBytes: header.byteLength, headerSha256: header.sha256 } };
}

function partOf({ header, file }: ReadFile): Part {
  return { file, tensors: header.tensors, architecture: header.metadata.string('general.architecture') };
}

async function readShards(given: ReadFile, count: number): Promise<HeaderSource> {
  const { path, metadata } = given.header;
  if (count > mostShards) throw new MalformedError(path, `it claims to be one of ${count} files`);
  const [, prefix, number, total] = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i.exec(basename(path)) ?? [];
  if (prefix === undefined || number === undefined || total === undefined) {
    const wanted = shardName('NAME', (metadata.count('split.no') ?? 0) + 1, count);
    throw new ShardsDifferError(path, `it is one of ${count} files but is not named like ${wanted}`);
  }
  if (Number(total) !== count) {
    throw new ShardsDifferError(path, `its name says ${Number(total)} files, its header ${count}`);
  }
  checkShard(given.header, Number(number) - 1, count);
  const shard = (index: number) =>
    index === Number(number) - 1 ? given : readShard(join(dirname(path), shardName(prefix, index + 1, count)));
  const { header: first, file } = await shard(0);
  checkShard(first, 0, count);
  const parts = [partOf({ header: first, file })];
  const promised = first.metadata.count('split.tensors.count');
  let tensors = first.tensors.size;
  for (let index = 1; index < count; index++) {
    const read = await shard(index);
    checkShard(read.header, index, count);
    tensors += read.header.tensors.size;
    if (tensors > (promised ?? mostTensors)) break;
    parts.push(partOf(read));
  }
  if (tensors !== (promised ?? tensors) || tensors > mostTensors) {
    throw new ShardsDifferError(path, `the set promises ${promised ?? mostTensors} tensors and holds ${tensors}`);
  }
  return modelOf(first, parts);
}

/** The name of the n-th file of a split set, n from 1, as llama.cpp's gguf-split writes it. */
function shardName(prefix: string, n: number, count: number): string {
  const digits = (value: number) => String(value).padStart(5, '0');
  return `${prefix}-${digits(n)}-of-${digits(count)}.gguf`;
}

async function readShard(path: string): Promise<ReadFile> {
  try {
    return await readFile(path);
  } catch (cause) {
    const system = cause instanceof GgufError ? cause.cause : undefined;
    if (system instanceof Error && 'code' in system && system.code === 'ENOENT') {
      throw new MissingShardError(path, 'is missing: the model needs every file of its split set.', cause);
    }
    throw cause;
  }
}

function checkShard(header: GgufHeader, index: number, count: number): void {
  const foundCount = header.metadata.count('split.count');
  const foundIndex = header.metadata.count('split.no');
  if (foundCount !== count) {
    throw new ShardsDifferError(header.path, `it is one of ${foundCount ?? 1} files, not of ${count}`);
  }
  if (foundIndex !== index) {
    throw new ShardsDifferError(header.path, `its header says file ${(foundIndex ?? 0) + 1}, its name ${index + 1}`);
  }
}

/** What the headers alone tell. */
type HeaderSource = Omit<ModelSource, 'sampleSha256'>;

function modelOf(first: GgufHeader, parts: readonly Part[]): HeaderSource {
  const { path, metadata, alignment } = first;
  const architecture = architectureOf(first);
  const tensors = joinTensors(parts, architecture);
  if (tensors.size === 0) throw new NotAModelError(path, 'holds no weights, only metadata; get the whole model.');
  const layers = metadata.count(`${architecture}.block_count`);
  if (layers === undefined) throw new NotAModelError(path, 'names no layers, so it is no language model.');
  if (layers === 0 || layers > mostLayers) {
    throw new MalformedError(path, `it claims ${layers} layers, not 1 to ${mostLayers}`);
  }
  let tensorBytes = 0;
  for (const tensor of tensors.values()) tensorBytes += tensor.byteLength;
  return {
    files: parts.map(({ file }) => file),
    architecture,
    layers,
    alignment,
    metadata,
    tensors,
    tensorBytes,
    summary: summarise({ path, architecture, layers, metadata, tensors }),
  };
}

function architectureOf({ path, metadata }: GgufHeader): string {
  const kind = metadata.string('general.type') ?? 'model';
  if (kind !== 'model') throw new NotAModelError(path, `is a GGUF of type '${oneLine(kind)}', not a language model.`);
  const architecture = metadata.string('general.architecture');
  if (architecture === undefined || !/^[a-z0-9_.-]{1,64}$/i.test(architecture)) {
    throw new MalformedError(path, `it names no architecture`);
  }
  if (architecture === 'clip') throw new NotAModelError(path, 'is an image projector, not a language model.');
  return architecture;
}

function joinTensors(parts: readonly Part[], architecture: string): ReadonlyMap<string, TensorInfo> {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first.tensors;
  const joined = new Map<string, TensorInfo>();
  for (const [index, { file, tensors, architecture: own = architecture }] of parts.entries()) {
    if (own !== architecture) {
      throw new ShardsDifferError(file.path, `its architecture is '${oneLine(own)}', not '${architecture}'`);
    }
    for (const tensor of tensors.values()) {
      if (joined.has(tensor.name)) {
        throw new ShardsDifferError(file.path, `another file of the set holds '${oneLine(tensor.name)}' too`);
      }
      tensor.file = index;
      joined.set(tensor.name, tensor);
    }
  }
  return joined;
}
