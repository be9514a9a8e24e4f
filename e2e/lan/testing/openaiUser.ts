import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { eventually } from '../../testing/eventually.ts';
import type { LanMachine } from '../lanMachine.ts';
import type { LanProcess } from '../lanProcess.ts';

const program = fileURLToPath(new URL('../../../dist/e2e/lan/programs/openaiUser.js', import.meta.url));

const lineSchema = z.object({
  id: z.number().optional(),
  event: z.string(),
  models: z.array(z.string()).optional(),
  text: z.string().optional(),
  finish: z.string().nullish(),
  vectors: z.array(z.array(z.number())).optional(),
  tokens: z.number().optional(),
  status: z.number().optional(),
  message: z.string().optional(),
});
type Line = z.infer<typeof lineSchema>;

/** A question that is being answered. */
export interface Asked {
  /** Resolves when another piece of the answer has come, or the first. */
  more(): Promise<void>;
  /** The whole answer and why it ended; throws what the client threw. */
  ended(): Promise<{ text: string; finish: string | null }>;
  /** Gives the request up. */
  leave(): void;
}

/** What the endpoint of another machine asks for: a key, and the file of the certificate to be trusted. */
export interface Pass {
  key: string;
  ca: string;
}

/** Somebody with the official OpenAI client on a machine of the LAN, who talks to the gateway there, or with a pass to another. */
export class OpenaiUser {
  readonly #process: LanProcess;
  #next = 1;

  private constructor(process: LanProcess) {
    this.#process = process;
  }

  static async start(machine: LanMachine, gateway: string, pass?: Pass): Promise<OpenaiUser> {
    const args = [program, gateway, ...(pass ? [pass.key] : [])];
    const started = machine.start(process.execPath, args, pass ? { env: { NODE_EXTRA_CA_CERTS: pass.ca } } : {});
    await started.says(/"ready"/);
    return new OpenaiUser(started);
  }

  /** Ids of the models that are listed. */
  async models(): Promise<string[]> {
    return (await this.#end(this.#say({ kind: 'models' }))).models ?? [];
  }

  /** What a model makes of texts, or of texts given as tokens, and how many tokens those were. */
  async embed(
    model: string,
    input: readonly string[] | readonly (readonly number[])[],
    dimensions?: number,
  ): Promise<{ vectors: number[][]; tokens: number }> {
    const asked = this.#say({ kind: 'embed', model, input, ...(dimensions !== undefined && { dimensions }) });
    const { vectors = [], tokens = 0 } = await this.#end(asked);
    return { vectors, tokens };
  }

  ask(model: string, question: string, mostTokens?: number): Asked {
    const id = this.#say({ kind: 'chat', model, question, ...(mostTokens !== undefined && { mostTokens }) });
    return {
      more: async () => {
        const pieces = (): number => this.#lines().filter((line) => line.id === id && line.event === 'piece').length;
        const before = pieces();
        await eventually(() => {
          if (pieces() === before) throw new Error(`No more comes from ${model}.`);
        });
      },
      ended: async () => {
        const { text = '', finish = null } = await this.#end(id);
        return { text, finish };
      },
      leave: () => this.#process.write(`${JSON.stringify({ kind: 'leave', id })}\n`),
    };
  }

  #say(request: object): number {
    const id = this.#next;
    this.#next += 1;
    this.#process.write(`${JSON.stringify({ ...request, id })}\n`);
    return id;
  }

  async #end(id: number): Promise<Line> {
    const line = await eventually(() => {
      const found = this.#lines().find((each) => each.id === id && (each.event === 'end' || each.event === 'error'));
      if (found === undefined) throw new Error(`Nothing came of request ${id}: ${this.#process.stderr()}`);
      return found;
    });
    if (line.event === 'error') throw new Error(`${line.status}: ${line.message}`);
    return line;
  }

  #lines(): Line[] {
    return this.#process
      .stdout()
      .split('\n')
      .slice(0, -1)
      .map((line) => lineSchema.parse(JSON.parse(line)));
  }
}
