import { MalformedError, oneLine } from './ggufError.ts';
import { decodeFixed, type FixedType, fixedBytes, type ScalarValue, type ValueType } from './valueType.ts';

/** Where the whole entry (key, type and value) lies in its file, for copying it byte for byte. */
interface EntryRange {
  offset: number;
  byteLength: number;
}

export interface ScalarEntry extends EntryRange {
  key: string;
  type: FixedType;
  value: ScalarValue;
}

export interface StringEntry extends EntryRange {
  key: string;
  type: 'string';
  value: string;
}

export interface ArrayEntry extends EntryRange {
  key: string;
  type: 'array';
  element: Exclude<ValueType, 'array'>;
  count: number;
  /** The elements as they lie in the file; null where they are strings or too many to keep. */
  bytes: Uint8Array<ArrayBuffer> | null;
}

export type MetadataEntry = ScalarEntry | StringEntry | ArrayEntry;

/** The metadata of one file in the order of the file. Getters answer undefined for a missing key and refuse a wrong type. */
export class Metadata {
  readonly #path: string;
  readonly #entries: ReadonlyMap<string, MetadataEntry>;

  constructor(path: string, entries: ReadonlyMap<string, MetadataEntry>) {
    this.#path = path;
    this.#entries = entries;
  }

  entries(): IterableIterator<MetadataEntry> {
    return this.#entries.values();
  }

  get(key: string): MetadataEntry | undefined {
    return this.#entries.get(key);
  }

  string(key: string): string | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.type !== 'string') throw this.#wrong(entry, 'a string');
    return entry.value;
  }

  /** A whole number that is not negative. */
  count(key: string): number | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.type === 'array' || entry.type === 'string') throw this.#wrong(entry, 'a whole number');
    return this.#count(entry, entry.value);
  }

  number(key: string): number | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.type === 'array' || entry.type === 'string' || typeof entry.value === 'boolean') {
      throw this.#wrong(entry, 'a number');
    }
    return Number(entry.value);
  }

  /** One whole number per layer: an array of `layers` of them (or of booleans), or one that stands for all. */
  perLayer(key: string, layers: number): number[] | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.type !== 'array') return new Array<number>(layers).fill(this.count(key) ?? 0);
    if (entry.count < layers) {
      throw new MalformedError(this.#path, `'${oneLine(key)}' has ${entry.count} values for ${layers} layers`);
    }
    return this.#elements(entry)
      .slice(0, layers)
      .map((value) => (typeof value === 'boolean' ? Number(value) : this.#count(entry, value)));
  }

  #elements(entry: ArrayEntry): ScalarValue[] {
    if (entry.bytes === null || entry.element === 'string') throw this.#wrong(entry, 'an array of numbers');
    const size = fixedBytes[entry.element];
    const view = new DataView(entry.bytes.buffer, entry.bytes.byteOffset, entry.bytes.byteLength);
    const { element } = entry;
    return Array.from({ length: entry.count }, (_, index) => decodeFixed(element, view, index * size));
  }

  #count(entry: MetadataEntry, value: ScalarValue): number {
    const number = typeof value === 'boolean' ? Number.NaN : Number(value);
    if (!Number.isSafeInteger(number) || number < 0) throw this.#wrong(entry, 'a whole number');
    return number;
  }

  #wrong(entry: MetadataEntry, wanted: string): MalformedError {
    const found = entry.type === 'array' ? `an array of ${entry.element}` : `a ${entry.type}`;
    return new MalformedError(this.#path, `'${oneLine(entry.key)}' should be ${wanted} but is ${found}`);
  }
}
