import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command, InvalidArgumentError } from 'commander';
import type { MethodResult, StageCheck } from '../gateway/memberApi.ts';
import type { LibraryDownload, LibraryModel, LibraryState } from '../library/libraryState.ts';
import { modelCalled } from '../library/modelCalled.ts';
import { formatBytes } from '../planner/formatBytes.ts';
import { callMember, followMember } from './callMember.ts';
import { homeOf, homeOption } from './homeOption.ts';
import { modelArgument } from './modelArgument.ts';
import { parseBytes } from './parseBytes.ts';
import { plainText } from './plainText.ts';
import { ProgressLine } from './progressLine.ts';
import { textTable } from './textTable.ts';

interface CommonOptions {
  home?: string;
  json?: boolean;
}

/** The commands about models; each asks the member that runs with the same data folder. */
export function libraryCommands(): Command[] {
  return [
    asking('import', 'take a model of this disk in; its file stays where it is')
      .argument('<path...>', 'a GGUF, any file of a split set, or a folder to watch')
      .action(importModels),
    asking('models', 'list the models on this disk, and what other members have')
      .option('--catalogue', 'instead those worth a try, and how each would fit this pool')
      .action(listModels),
    asking('pull', 'download a model; Ctrl-C stops it, asked for again it goes on where it was')
      .argument('<reference>', 'hf:USER/REPOSITORY:QUANT, hf:USER/REPOSITORY/FILE.gguf, or an address')
      .option('--detach', 'only begin: it goes on in the member')
      .option('--stop', 'stop it; what has arrived is kept')
      .action(pull),
    asking('rm', 'take a model out of the library; what was downloaded is deleted')
      .argument('<model>', 'its name, id or file')
      .option('--delete', 'delete its files, also where they were imported')
      .option('--keep', 'keep its files, also where they were downloaded')
      .action(remove),
    asking('verify', 'read a model from end to end and compare it with its hashes')
      .argument('<model>', 'its name, id or file')
      .action(verify),
    asking('limits', 'show or change what models may take of this machine')
      .option('--disk <bytes>', 'for parts of models, such as 200GB; auto for a fifth of the disk', parseLimit)
      .option('--bandwidth <bytes>', 'a second in each direction, such as 50MB; none for no limit', parseLimit)
      .option('--beside <percent>', 'of the time, for giving models away while a stage computes here', parsePercent)
      .action(limits),
    asking('hub-token', 'keep a token for gated models, from standard input')
      .option('--forget', 'forget it')
      .action(hubToken),
  ];
}

function asking(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .addOption(homeOption())
    .option('--json', 'one JSON object on stdout');
}

function print(options: CommonOptions, value: unknown, inWords: string): void {
  process.stdout.write(`${options.json ? JSON.stringify(value) : inWords}\n`);
}

async function importModels(paths: string[], options: CommonOptions): Promise<void> {
  const home = homeOf(options);
  const models: LibraryModel[] = [];
  const failures: unknown[] = [];
  for (const path of paths) {
    try {
      models.push(...(await callMember(home, 'importModel', { path: resolve(path) })).models);
    } catch (cause) {
      failures.push(cause);
    }
  }
  if (models.length > 0 || failures.length === 0) {
    print(options, { models }, models.map(aboutModel).join('\n\n') || 'The folder is watched; it holds no model yet.');
  }
  if (failures.length > 0) throw new AggregateError(failures);
}

function aboutModel(model: LibraryModel): string {
  const { name, title, architecture, parameters, quantisation, layers, contextLength, licence, bytes, files } = model;
  const context = contextLength === null ? 'unknown context' : `${contextLength} tokens of context`;
  const template = model.embedsOnly
    ? 'an embedding model'
    : model.hasChatTemplate
      ? 'with a chat template'
      : 'without a chat template';
  return [
    `${name}  ${plainText(title, 80)}`,
    `  ${architecture}, ${billions(parameters)} ${quantisation}, ${layers} layers, ${context}, ${template}`,
    `  ${formatBytes(bytes)} in ${files.length === 1 ? files[0] : `${files.length} files, first ${files[0]}`}`,
    `  licence ${licence === null ? 'not named' : plainText(licence, 80)}`,
  ].join('\n');
}

async function listModels(options: CommonOptions & { catalogue?: boolean }): Promise<void> {
  const home = homeOf(options);
  if (options.catalogue) {
    const found = await callMember(home, 'catalogue', {});
    print(options, found, catalogueTable(found));
    return;
  }
  const library = await callMember(home, 'library', {});
  print(options, library, libraryText(library));
}

function catalogueTable({ models }: MethodResult<'catalogue'>): string {
  const rows = models.map(({ name, bytes, licence, reference, fit, hops, tokensPerSecond, missingBytes }) => [
    name,
    formatBytes(bytes),
    fit === 'DoesNotFit'
      ? `does not fit${missingBytes === null || missingBytes === 0 ? '' : `: ${formatBytes(missingBytes)} missing`}`
      : `fits, ${hops === 0 ? 'on one member' : `${hops} hops`}, about ${tokensPerSecond?.toFixed(0)} tokens/s`,
    licence,
    reference,
  ]);
  return textTable(['model', 'size', 'this pool', 'licence', 'roomful pull'], rows);
}

/** What is worth knowing of a model beside its size. */
function noteOf({ embedsOnly, state, hashed, hashing }: LibraryModel): string {
  const how =
    state === 'ready' ? (hashed ? '' : hashing === null ? 'not hashed' : `hashing ${percent(hashing)}`) : state;
  return [embedsOnly ? 'for embeddings' : '', how].filter((each) => each !== '').join(', ');
}

function libraryText({ models, elsewhere, skipped, downloads, folders }: LibraryState): string {
  const rows = models.map((model) => [
    model.name,
    billions(model.parameters),
    String(model.layers),
    model.contextLength === null ? '' : String(model.contextLength),
    formatBytes(model.bytes),
    model.licence ?? '',
    noteOf(model),
    model.id.slice(0, 12),
  ]);
  const problems = [
    ...models.flatMap(({ problem }) => problem ?? []),
    ...folders.flatMap(({ problem }) => problem ?? []),
    ...skipped.map(({ problem }) => problem),
  ];
  const pulls = downloads.filter(({ state }) => state !== 'done').map(downloadLine);
  const table =
    rows.length === 0
      ? 'No models yet. `roomful import FILE` takes one in, `roomful models --catalogue` lists some to pull.'
      : textTable(['model', 'weights', 'layers', 'context', 'size', 'licence', '', 'id'], rows, { short: ['licence'] });
  const others =
    elsewhere.length === 0
      ? []
      : [
          '',
          textTable(
            ['on other machines', 'weights', 'layers', 'size', 'on', 'id'],
            elsewhere.map(({ id, name, parameters, layers, bytes, holders }) => [
              ...[name, billions(parameters), String(layers), formatBytes(bytes), holders.join(', '), id.slice(0, 12)],
            ]),
          ),
        ];
  return [
    table,
    ...others,
    ...(pulls.length > 0 ? ['', ...pulls] : []),
    ...(problems.length > 0 ? ['', ...problems] : []),
  ].join('\n');
}

function downloadLine({ reference, state, bytes, totalBytes, problem }: LibraryDownload): string {
  const of = totalBytes === null ? '' : ` of ${formatBytes(totalBytes)}`;
  return `${reference}: ${state}, ${formatBytes(bytes)}${of}${problem === null ? '' : `. ${problem}`}`;
}

async function pull(reference: string, options: CommonOptions & { detach?: boolean; stop?: boolean }): Promise<void> {
  const home = homeOf(options);
  if (options.stop) return stopPull(reference, options);
  const line = new ProgressLine(process.stderr);
  let id: string | null = null;
  let isStopping = false;
  const stop = (): void => {
    isStopping = true;
    if (id !== null) void callMember(home, 'stopPull', { download: id }).catch(() => {});
  };
  for (const signal of ENDING) process.on(signal, stop);
  try {
    const before = await callMember(home, 'library', {});
    const begun = await callMember(home, 'pullModel', { reference });
    id = begun.id;
    if (isStopping) stop();
    if (options.detach) {
      print(
        options,
        { download: begun },
        `${reference} goes on in the member: \`roomful models\` shows how far it is, \`roomful pull --stop\` stops it.`,
      );
      return;
    }
    for await (const library of watchLibrary(home)) {
      const download = library.downloads.find((each) => each.id === id);
      if (download === undefined) throw new Error(`The download of ${reference} was discarded.`);
      const { state, problem, model } = download;
      if (state === 'failed') throw new Error(problem ?? 'The download failed.');
      if (state === 'stopped') throw new Error('The download was stopped. Pull it again to go on where it was.');
      const found = library.models.find((each) => each.id === model);
      if (found === undefined) {
        showDownload(line, download);
        continue;
      }
      line.clear();
      const wasHere = before.models.some((each) => each.id === found.id && each.state === 'ready');
      print(
        options,
        { model: found },
        `${aboutModel(found)}${wasHere ? '\nIt was here already; nothing new was kept.' : ''}`,
      );
      return;
    }
  } finally {
    line.clear();
    for (const signal of ENDING) process.off(signal, stop);
  }
}

/** What ends a command from outside: a download that somebody waits for ends with it. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

async function stopPull(reference: string, options: CommonOptions): Promise<void> {
  const home = homeOf(options);
  const { downloads } = await callMember(home, 'library', {});
  const running = downloads.find((each) => each.reference === reference.trim() && isUnderWay(each));
  if (running === undefined) throw new Error(`${reference} is not being downloaded.`);
  const library = await callMember(home, 'stopPull', { download: running.id });
  const stopped = library.downloads.find(({ id }) => id === running.id);
  print(options, { download: stopped }, 'The download was stopped. Pull it again to go on where it was.');
}

function isUnderWay({ state }: LibraryDownload): boolean {
  return state === 'resolving' || state === 'running' || state === 'checking';
}

function showDownload(line: ProgressLine, download: LibraryDownload): void {
  const { reference, state, bytes, totalBytes, bytesPerSecond, secondsLeft } = download;
  const fraction = totalBytes === null || totalBytes === 0 ? null : bytes / totalBytes;
  if (state === 'resolving') line.show(`${reference}: asking where it is`, null);
  if (state === 'checking') line.show(`${reference}: checking`, fraction);
  if (state !== 'running') return;
  const size = totalBytes === null ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`;
  const left = secondsLeft === null ? '' : `, ${duration(secondsLeft)} left`;
  line.show(reference, fraction, `${size}, ${formatBytes(bytesPerSecond)}/s${left}`);
}

async function remove(given: string, options: CommonOptions & { delete?: boolean; keep?: boolean }): Promise<void> {
  if (options.delete && options.keep) throw new Error('Give --delete or --keep, not both.');
  const deleteFiles = options.delete ? true : options.keep ? false : undefined;
  const model = modelArgument(given);
  const found = await callMember(homeOf(options), 'removeModel', { model, deleteFiles });
  const files = found.deleted.length === 0 ? 'Its files stay where they are.' : `Deleted: ${found.deleted.join(', ')}`;
  const freed =
    found.freedBytes === 0 ? '' : ` Parts of it that were received are gone too: ${formatBytes(found.freedBytes)}.`;
  print(options, found, `${model} is out of the library. ${files}${freed}`);
}

/** Reads the model's own files where they lie here, then what was received of it for stages. */
async function verify(given: string, options: CommonOptions): Promise<void> {
  const home = homeOf(options);
  const called = modelArgument(given);
  const { models } = await callMember(home, 'library', {});
  const named = models.map(({ id, name, files }) => ({ id, name, files: files.map((path) => ({ path })) }));
  const isHere = modelCalled(named, called) !== null;
  const own = isHere ? await verifyFiles(called, options) : null;
  const { model, stages } = await callMember(home, 'verifyStages', { model: called });
  const words = [...(own === null ? [] : [own.words]), ...stages.map(stageText)];
  print(options, { ...own?.json, model, stages }, words.join('\n') || `This machine has no part of ${called}.`);
  const left = stages.find(({ damaged, repaired }) => damaged.length > 0 && !repaired);
  if (left !== undefined) throw new Error(stageText(left));
}

function stageText({ startLayer, endLayer, damaged, repaired }: StageCheck): string {
  const what = `Layers ${startLayer} to ${endLayer - 1}, received`;
  if (damaged.length === 0) return `${what}: all is what it was.`;
  const then = repaired ? 'fetched again' : 'fetched again before they are loaded, from whoever has the model then';
  return `${what}: damaged are ${damaged.join(', ')}; ${then}.`;
}

async function limits(options: CommonOptions & LimitFlags): Promise<void> {
  const { beside: loadedShare } = options;
  const change = { diskBytes: limitOf(options.disk), bytesPerSecond: limitOf(options.bandwidth), loadedShare };
  const isChange = Object.values(change).some((value) => value !== undefined);
  const home = homeOf(options);
  const now = isChange ? await callMember(home, 'changeLimits', change) : await callMember(home, 'limits', {});
  const { diskBytes: disk, bytesPerSecond: bandwidth } = now;
  const words = [
    `Parts of models take ${disk === null ? 'a fifth of the disk' : formatBytes(disk)} at most.`,
    bandwidth === null ? 'Models travel as fast as they can.' : `Models travel at ${formatBytes(bandwidth)}/s at most.`,
    `While a stage computes here, giving models away takes ${Math.round(now.loadedShare * 100)} % of the time at most.`,
  ];
  print(options, now, words.join('\n'));
}

interface LimitFlags {
  disk?: number | 'none';
  bandwidth?: number | 'none';
  beside?: number;
}

/** Bytes, or that there is no limit: commander takes null for a value that is missing. */
function parseLimit(text: string): number | 'none' {
  return ['auto', 'none'].includes(text) ? 'none' : parseBytes(text);
}

const limitOf = (given: number | 'none' | undefined): number | null | undefined => (given === 'none' ? null : given);

function parsePercent(text: string): number {
  const percent = Number(text.replace(/\s*%$/, ''));
  if (text !== '' && percent >= 1 && percent <= 100) return percent / 100;
  throw new InvalidArgumentError('Give 1 to 100.');
}

async function verifyFiles(called: string, options: CommonOptions): Promise<{ json: object; words: string }> {
  const home = homeOf(options);
  const line = new ProgressLine(process.stderr);
  const { id, name, verified: before } = await callMember(home, 'verifyModel', { model: called });
  const stop = (): void => void callMember(home, 'stopVerifying', { model: id }).catch(() => {});
  for (const signal of ENDING) process.on(signal, stop);
  try {
    for await (const { models } of watchLibrary(home)) {
      const model = models.find((each) => each.id === id);
      if (model === undefined) throw new Error(`${name} has left the library.`);
      const { verifying, verified, problem } = model;
      if (verifying !== null) line.show(`Verifying ${name}`, verifying);
      if (verifying !== null || verified === null || verified.at === before?.at) continue;
      line.clear();
      if (verified.problem !== null) throw new Error(verified.problem);
      const { compared, damaged } = verified;
      const good = compared
        ? 'is what it was'
        : 'was read whole; its hashes are known now, there were none to compare with';
      const json = { model: id, ...verified };
      if (damaged.length === 0) return { json, words: `${name} ${good}.` };
      print(options, json, damaged.join('\n'));
      throw new Error(problem ?? `${name} is damaged.`);
    }
    throw new Error('The member has ended.');
  } finally {
    line.clear();
    for (const signal of ENDING) process.off(signal, stop);
  }
}

async function hubToken(options: CommonOptions & { forget?: boolean }): Promise<void> {
  const token = options.forget ? null : (await text(process.stdin)).trim();
  if (token === '') throw new Error('Give the token on standard input, as in: roomful hub-token < token.txt');
  const { place } = await callMember(homeOf(options), 'setHubToken', { token });
  print(options, { place }, token === null ? 'The token is forgotten.' : `The token is kept in ${place}.`);
}

/** The library now and after every change. Rejects when the member ends. */
async function* watchLibrary(home: string): AsyncGenerator<LibraryState, void, void> {
  for await (const line of followMember(home, '/api/watch/library')) yield JSON.parse(line) as LibraryState;
  throw new Error('The member has ended.');
}

function billions(parameters: number): string {
  return parameters >= 1e9 ? `${(parameters / 1e9).toFixed(1)}B` : `${Math.max(1, Math.round(parameters / 1e6))}M`;
}

function percent(fraction: number): string {
  return `${Math.floor(fraction * 100)}%`;
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}
