import { median } from '../../electron/pipeline/numbers/median.ts';
import { greedySampling } from '../../electron/pipeline/sampling/plainSampling.ts';
import type { ServingModel } from '../../electron/pipeline/serving/modelServing.ts';
import { demoCorpus, demoDraftPath, demoModelPath, demoPrompt } from '../testing/demoCorpus.ts';
import { type BenchOptions, isWanted } from './benchOptions.ts';
import { type BenchRoom, startBenchRoom } from './benchRoom.ts';
import { billionModel } from './billionModel.ts';
import { DelayRelay } from './delayRelay.ts';
import { headCosts } from './headCosts.ts';
import type { BenchReport } from './report.ts';

const ROUND_TRIP_MS = 20;
const LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8];
const QUESTIONS = 6;
const MOST_TOKENS = 80;
const ROUNDS = 2;

type Row = Record<string, string | number>;

/**
 * What guessing ahead brings: the demo pair over two stages with a round trip of 20 ms, without drafts, with each number of
 * drafts, and with as many as Roomful chooses; and what the rows of a model of a billion parameters cost, the head's share apart.
 */
export async function draftBench({ only, rtt = [ROUND_TRIP_MS], rounds = ROUNDS }: BenchOptions): Promise<BenchReport> {
  const pair: Row[] = [];
  // One after the other: together they would measure each other.
  if (isWanted('pair', only)) for (const ms of rtt) pair.push(...(await pairRows(ms, rounds, only)));
  const costs = isWanted('head', only) ? await costRows() : [];
  return {
    title: `draft: the demo pair over two stages, ${QUESTIONS} questions; what k + 1 rows cost`,
    columns: [
      'subject',
      'drafts',
      'tokens/s',
      'times',
      'same text',
      'accepted',
      'tokens/step',
      'step ms',
      'stages ms',
      'head share',
    ],
    rows: [...pair, ...costs],
  };
}

async function pairRows(roundTripMs: number, rounds: number, only: BenchOptions['only']): Promise<Row[]> {
  const relay = new DelayRelay();
  const room = await startBenchRoom({
    modelPath: demoModelPath,
    stages: 2,
    slots: 4,
    drafts: true,
    contextLength: 512,
    route: relay.route,
  });
  try {
    relay.oneWayMs = roundTripMs / 2;
    const ways = [
      { name: 'none', request: { mostDrafts: 0 } },
      ...LENGTHS.map((mostDrafts) => {
        return {
          name: `${mostDrafts}`,
          request: { mostDrafts, alwaysDraft: true, mostAhead: 1, draftPath: demoDraftPath },
        };
      }),
      { name: 'chosen, each waits', request: { mostAhead: 1, draftPath: demoDraftPath } },
      { name: 'chosen', request: { draftPath: demoDraftPath } },
      { name: 'looked up, each waits', request: { mostAhead: 1 } },
      { name: 'looked up', request: {} },
    ].filter(({ name }) => isWanted('lengths', only) || !/^\d$/.test(name));
    const measured = new Map<string, Answered[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const { name, request } of ways) {
        process.stderr.write(`round ${round + 1} of ${rounds}: ${roundTripMs} ms, drafts: ${name}    \r`);
        const model = await room.serve(request);
        measured.set(name, [...(measured.get(name) ?? []), await answer(room, model)]);
      }
    }
    process.stderr.write('\n');
    const [plain] = measured.get('none') ?? [];
    const plainRate = median((measured.get('none') ?? []).map(({ rate }) => rate));
    return ways.map(({ name }): Row => {
      const runs = measured.get(name) ?? [];
      const middle = (of: (run: Answered) => number): number => median(runs.map(of));
      return {
        subject: `pair, ${roundTripMs} ms`,
        drafts: name,
        'tokens/s': round(middle(({ rate }) => rate)),
        times: round(middle(({ rate }) => rate) / plainRate),
        'same text': `${runs.flatMap(({ texts }) => texts.filter((text, index) => text === plain?.texts[index])).length} of ${runs.length * QUESTIONS}`,
        accepted: round(middle(({ accepted }) => accepted)),
        'tokens/step': round(middle(({ perStep }) => perStep)),
        'step ms': round(middle(({ stepMs }) => stepMs)),
        'stages ms': round(middle(({ stagesMs }) => stagesMs)),
      };
    });
  } finally {
    await room.close();
    await relay.close();
  }
}

interface Answered {
  texts: string[];
  rate: number;
  accepted: number;
  perStep: number;
  stepMs: number;
  stagesMs: number;
}

async function answer({ lead }: BenchRoom, model: ServingModel): Promise<Answered> {
  const questions = demoCorpus()
    .map(({ questions: [question] }) => question ?? '')
    .slice(0, QUESTIONS);
  const numbers = () => {
    const driven = lead.models.numbers().find(({ id }) => model.pipelines.includes(id));
    if (driven === undefined) throw new Error('The lead drives the pipeline.');
    return driven.numbers;
  };
  const before = numbers();
  const texts: string[] = [];
  let [tokens, ms] = [0, 0];
  for (const question of questions) {
    const promptTokens = await model.tokenize(demoPrompt(question), { addSpecial: true, parseSpecial: true });
    const made: number[] = [];
    let firstAt = 0;
    for await (const { id } of model.generate(
      { promptTokens, maxTokens: MOST_TOKENS, sampling: greedySampling },
      never,
    )) {
      if (made.length === 0) firstAt = performance.now();
      made.push(id);
    }
    tokens += made.length - 1;
    ms += performance.now() - firstAt;
    texts.push(made.join(' '));
  }
  const after = numbers();
  const drafted = after.draftedTokens - before.draftedTokens;
  return {
    texts,
    rate: (tokens * 1000) / ms,
    accepted: drafted === 0 ? 0 : (after.acceptedTokens - before.acceptedTokens) / drafted,
    // Each question has one step that reads its prompt.
    perStep: tokens / (after.steps - before.steps - questions.length),
    stepMs: after.stepMs,
    stagesMs: after.stages.reduce((sum, { computeMs }) => sum + computeMs, 0),
  };
}

const never = new AbortController().signal;

async function costRows(): Promise<Row[]> {
  const costs = await headCosts(await billionModel(), [1, ...LENGTHS.map((drafts) => drafts + 1)]);
  return costs.map(({ rows, ms, headMs }) => ({
    subject: '1.24 B, one thread',
    drafts: rows - 1,
    'stages ms': round(ms),
    'head share': round(headMs / ms),
  }));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
