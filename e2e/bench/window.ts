import type { ChatMessage, ConversationHead } from '../../electron/gateway/memberApi.ts';
import type { MemberActions } from '../../electron/gateway/window/memberState.ts';
import { traceBetweenMarks } from './browserTrace.ts';
import type { BenchReport } from './report.ts';
import { openWindowPage, type WindowPage } from './windowPage.ts';

const MEMBERS = 12;
const LAYERS = 128;
const UPDATES = 120;
const MESSAGES = 10_000;

/** What the window costs a browser: its first paint, and an update of the playground. */
export async function windowBench(): Promise<BenchReport> {
  const window = await openWindowPage(longChat());
  try {
    const paintMs = await firstPaint(window);
    const chatMs = await openLongChat(window);
    const updates = (await playgroundUpdates(window)).sort((a, b) => a - b);
    const at = (part: number) => Number((updates[Math.floor(updates.length * part)] ?? Number.NaN).toFixed(2));
    return {
      title: 'The window in Chromium, ms',
      columns: ['what', 'median', 'p95', 'target'],
      rows: [
        { what: 'first contentful paint', median: paintMs, p95: '', target: '1500' },
        { what: `opening a chat of ${MESSAGES} messages`, median: chatMs, p95: '', target: '1000' },
        {
          what: `playground, ${MEMBERS} members x ${LAYERS} layers: script and layout of an update`,
          median: at(0.5),
          p95: at(0.95),
          target: '8',
        },
      ],
    };
  } finally {
    await window.close();
  }
}

async function firstPaint({ page }: WindowPage): Promise<number> {
  await page.reload();
  await page.getByText('Connected').waitFor();
  return Math.round(
    await page.evaluate<number>("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"),
  );
}

const chatId = 'conversation-long';

/** A member that keeps one very long conversation. */
function longChat(): Partial<MemberActions> {
  const history = Array.from({ length: MESSAGES }, (_, index): ChatMessage => {
    const isQuestion = index % 2 === 0;
    return {
      id: `m${index}`,
      parent: index === 0 ? null : `m${index - 1}`,
      role: isQuestion ? 'user' : 'assistant',
      content: isQuestion ? `Question ${index}?` : `Answer **${index}** of some length. `.repeat(10),
      createdAt: index,
      answer: null,
    };
  });
  const head: ConversationHead = { id: chatId, title: 'A long chat', messages: MESSAGES, updatedAt: 1 };
  const settings = { system: '', temperature: null, topP: null, maxTokens: null, seed: null };
  return {
    conversations: async () => ({ conversations: [head] }),
    conversation: async () => ({ ...head, model: null, settings, leaf: `m${MESSAGES - 1}`, history }),
  };
}

/** Milliseconds from the click to the picture in which the last message is seen. */
async function openLongChat({ page, show }: WindowPage): Promise<number> {
  await show('/#/chat');
  await page.getByRole('button', { name: 'A long chat' }).waitFor();
  return Math.round(
    await page.evaluate<number>(`new Promise((resolve) => {
      const began = performance.now();
      const look = () => {
        const log = document.querySelector('[role=log]');
        const last = document.querySelector('[data-row="m${MESSAGES - 1}"]');
        const seen = last !== null && last.getBoundingClientRect().top < log.getBoundingClientRect().bottom;
        if (seen) return resolve(performance.now() - began);
        requestAnimationFrame(() => setTimeout(look));
      };
      document.querySelector('.conversation-open').click();
      look();
    })`),
  );
}

/** Drags the memory of one member up and down, a step a frame. */
async function playgroundUpdates({ page, show }: WindowPage): Promise<number[]> {
  await show(`/#/planner?room=${Buffer.from(JSON.stringify(room())).toString('base64url')}`);
  await page.getByLabel('Memory of machine 1', { exact: true }).waitFor();
  await page.evaluate(drag(20));
  return traceBetweenMarks(page, 'update', async () => {
    await page.evaluate(drag(UPDATES));
  });
}

const drag = (updates: number): string => `new Promise((resolve) => {
  const slider = document.querySelector('[aria-label="Memory of machine 1"]');
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  let count = 0;
  const step = () => {
    performance.mark('update');
    if (count === ${updates}) return resolve();
    set.call(slider, String(10 + (count % 40)));
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    count += 1;
    requestAnimationFrame(() => setTimeout(step));
  };
  step();
})`;

function room(): object {
  const members = Array.from({ length: MEMBERS }, (_, index) => ({
    id: `m${index + 1}`,
    name: `machine ${index + 1}`,
    real: false,
    included: true,
    backend: index % 3 === 2 ? 'Metal' : 'Cuda',
    memoryBytes: (12 + 4 * (index % 4)) * 1e9,
    hostMemoryBytes: 0,
    bandwidth: null,
    addedMs: index % 2,
    build: 'imagined',
  }));
  return {
    roomful: 'plan',
    format: 1,
    question: {
      members,
      links: [],
      network: { rttMs: 0.5, bytesPerSecond: 117e6 },
      model: { kind: 'own', layers: LAYERS, hiddenSize: 8192, weightBytes: 110e9 },
      context: 4096,
      slots: 4,
      kvType: 'f16',
      policy: 'hop-minimal',
      force: null,
      replicas: null,
      plainRam: 'last-resort',
    },
    positions: {},
  };
}
