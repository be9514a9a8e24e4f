import type { MemberApi } from '../gateway/memberApi.ts';
import { ask, reportFailure } from './dialogs.ts';
import { joinQuestion } from './joinQuestion.ts';
import type { LaunchRequest } from './launchRequest.ts';
import type { PageName } from './pageLink.ts';

export interface OpenRequestsOptions {
  api: MemberApi;
  show(page: PageName): Promise<void>;
}

/** Does what links and files ask for that the system hands over: from outside, so that nothing happens without a question. */
export class OpenRequests {
  readonly #options: OpenRequestsOptions;
  #asking = false;

  constructor(options: OpenRequestsOptions) {
    this.#options = options;
  }

  /** Never rejects; what goes wrong is said in a box. */
  async take({ links, files }: Pick<LaunchRequest, 'links' | 'files'>): Promise<void> {
    const [link] = links;
    try {
      if (files.length > 0) await this.#importFiles(files);
      if (link !== undefined) await this.#join(link);
    } catch (error) {
      reportFailure(error);
    }
  }

  /** One question at a time: a page that opens link after link shall not bury the machine under boxes. */
  async #join(link: string): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const { api, show } = this.#options;
    try {
      const { pool } = await api.call('status', {});
      const { token, message, detail } = joinQuestion(link, { now: Date.now(), pool: pool?.name ?? null });
      if (!(await ask({ message, detail, action: 'Join', otherwise: 'Cancel' }))) return;
      await api.call('join', { token });
      await show('pool');
    } finally {
      this.#asking = false;
    }
  }

  /** A model is not copied, only known from then on. */
  async #importFiles(files: readonly string[]): Promise<void> {
    const { api, show } = this.#options;
    await show('models');
    const problems: string[] = [];
    for (const path of files) {
      await api.call('importModel', { path }).catch((cause: unknown) => {
        problems.push(cause instanceof Error ? cause.message : String(cause));
      });
    }
    if (problems.length > 0) throw new Error(problems.join('\n'));
  }
}
