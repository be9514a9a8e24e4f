import {
  type IntroduceReply,
  type IntroductionServer,
  IntroductionService,
} from './generated/roomful/v1/introduction.ts';
import { unaryHandler } from './unaryHandler.ts';
import type { ServedService } from './wireServer.ts';

/** Answers other members that want to know this one. What `introduce` throws reaches them as CallRefused with its `kind`. */
export function introductionService(introduce: () => Promise<IntroduceReply>): ServedService {
  const handlers: IntroductionServer = { introduce: unaryHandler(() => introduce()) };
  return { definition: IntroductionService, handlers: { ...handlers } };
}
