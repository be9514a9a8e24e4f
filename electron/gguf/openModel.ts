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
import { openFileReader } from './rangeReader.ts';
import { type GgufHeader, readHeader, type TensorInfo } from './readHeader.ts';

/** A tensor of a model, in the file of `ModelSource.files` that holds it. */
export interface SourceTensor extends TensorInfo {
  file: number;
}

/** A model on disk, in one file or a split set: plain data, nothing stays open. */
export interface ModelSource {
  /** In the order of the set; the first holds the metadata. */
  files: { path: string; bytes: number }[];
  architecture: string;
  /** Transformer blocks, at least 1. */
  layers: number;
  alignment: number;
  metadata: Metadata;
  tensors: Map<string, SourceTensor>;
  /** Bytes of all tensors. */
  tensorBytes: number;
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
  const given = await headerOf(path);
  const count = given.metadata.count('split.count') ?? 1;
  if (count <= 1) return modelOf([given]);
  return modelOf(await readShards(given, count));
}

async function headerOf(path: string): Promise<GgufHeader> {
  const reader = await openFileReader(path);
  try {
    return await readHeader(reader);
  } finally {
    await reader.close();
  }
}

async function readShards(given: GgufHeader, count: number): Promise<GgufHeader[]> {
  if (count > mostShards) throw new MalformedError(given.path, `it claims to be one of ${count} files`);
  const named = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i.exec(basename(given.path));
  const [, prefix, number, total] = named ?? [];
  if (prefix === undefined || number === undefined || total === undefined) {
    const wanted = shardName('NAME', (given.metadata.count('split.no') ?? 0) + 1, count);
    throw new ShardsDifferError(given.path, `it is one of ${count} files but is not named like ${wanted}`);
  }
  if (Number(total) !== count) {
    throw new ShardsDifferError(given.path, `its name says ${Number(total)} files, its header ${count}`);
  }
  const headers: GgufHeader[] = [];
  for (let index = 0; index < count; index++) {
    const shard = join(dirname(given.path), shardName(prefix, index + 1, count));
    const header = index === Number(number) - 1 ? given : await readShard(shard);
    checkShard(header, index, count);
    headers.push(header);
  }
  const tensors = headers.reduce((sum, header) => sum + header.tensors.size, 0);
  const promised = headers[0]?.metadata.count('split.tensors.count') ?? tensors;
  if (promised !== tensors) {
    throw new ShardsDifferError(given.path, `the set promises ${promised} tensors and holds ${tensors}`);
  }
  return headers;
}

/** The name of the n-th file of a split set, n from 1, as llama.cpp's gguf-split writes it. */
function shardName(prefix: string, n: number, count: number): string {
  const digits = (value: number) => String(value).padStart(5, '0');
  return `${prefix}-${digits(n)}-of-${digits(count)}.gguf`;
}

async function readShard(path: string): Promise<GgufHeader> {
  try {
    return await headerOf(path);
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

function modelOf(headers: readonly GgufHeader[]): ModelSource {
  const [first] = headers;
  if (first === undefined) throw new RangeError('a model has at least one file');
  const { path, metadata, alignment } = first;
  const architecture = architectureOf(first);
  const layers = metadata.count(`${architecture}.block_count`);
  if (layers === undefined || layers === 0 || layers > mostLayers) {
    throw new MalformedError(path, `it claims ${layers ?? 'no'} layers, not 1 to ${mostLayers}`);
  }
  const tensors = joinTensors(headers, architecture);
  if (tensors.size === 0) throw new NotAModelError(path, 'holds no weights, only metadata; get the whole model.');
  let tensorBytes = 0;
  for (const tensor of tensors.values()) tensorBytes += tensor.byteLength;
  return {
    files: headers.map((header) => ({ path: header.path, bytes: header.fileBytes })),
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

function joinTensors(headers: readonly GgufHeader[], architecture: string): Map<string, SourceTensor> {
  const tensors = new Map<string, SourceTensor>();
  for (const [file, header] of headers.entries()) {
    const own = header.metadata.string('general.architecture') ?? architecture;
    if (own !== architecture) {
      throw new ShardsDifferError(header.path, `its architecture is '${oneLine(own)}', not '${architecture}'`);
    }
    for (const tensor of header.tensors.values()) {
      if (tensors.has(tensor.name)) {
        throw new ShardsDifferError(header.path, `another file of the set holds '${oneLine(tensor.name)}' too`);
      }
      tensors.set(tensor.name, { ...tensor, file });
    }
  }
  return tensors;
}
