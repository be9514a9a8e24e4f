import type { MethodParams } from '../../../electron/gateway/memberApi.ts';
import { answerTo } from './answer.ts';
import type { Question } from './scenario.ts';

/** How to serve what is planned, or in one line why that cannot be. */
export function serveParams(question: Question): { params: MethodParams<'serve'> } | { reason: string } {
  const { model, members, context, slots, kvType, force, policy, plainRam } = question;
  if (model.kind !== 'library') return { reason: 'Choose a model of this machine to serve it from here.' };
  const { plan } = answerTo(question);
  if (plan === null || plan.pipelines.length === 0) return { reason: 'This does not fit yet.' };
  const used = plan.pipelines.map(({ stages }) => stages.map(({ address }) => address));
  const imagined = members.filter(({ id, real }) => !real && used.flat().includes(id));
  if (imagined.length > 0) {
    return { reason: `${imagined.map(({ name }) => name).join(', ')}: imagined members cannot serve.` };
  }
  const [first = []] = used;
  const one = used.length === 1;
  return {
    params: {
      model: model.id,
      contextLength: Math.max(16, context),
      slots: Math.min(slots, 64),
      kvType,
      policy,
      plainRam,
      // One pipeline is served on the members that were seen; several are left to the pool's own plan.
      ...(one
        ? { members: first, force: first.length > 1 ? 'cluster' : 'single' }
        : { replicas: used.length, ...(force !== null && { force }) }),
    },
  };
}
