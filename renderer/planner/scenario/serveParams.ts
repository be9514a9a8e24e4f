import type { MethodParams, PoolMemberDetail } from '../../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../../electron/planner/formatBytes.ts';
import type { PlannedStage } from '../../../electron/planner/plan.ts';
import { answerTo } from './answer.ts';
import type { Question } from './scenario.ts';

/** Those of the pool as it is now; the room may be older, and changed by hand. */
type PoolNow = readonly Pick<PoolMemberDetail, 'id' | 'state' | 'paused' | 'reject' | 'shareBytes'>[];

/** How to serve what is planned in the pool as it is now, or in one line why that cannot be. */
export function serveParams(question: Question, pool: PoolNow): { params: MethodParams<'serve'> } | { reason: string } {
  const { model, members, context, slots, kvType, force, policy, plainRam } = question;
  if (model.kind !== 'library') return { reason: 'Choose a model of this machine to serve it from here.' };
  const { plan } = answerTo(question);
  if (plan === null || plan.pipelines.length === 0) return { reason: 'This does not fit yet.' };
  const used = plan.pipelines.map(({ stages }) => stages.map(({ address }) => address));
  const imagined = members.filter(({ id, real }) => !real && used.flat().includes(id));
  if (imagined.length > 0) {
    return { reason: `${imagined.map(({ name }) => name).join(', ')}: imagined members cannot serve.` };
  }
  const names = new Map(members.map(({ id, name }) => [id, name]));
  const obstacle = plan.pipelines
    .flatMap(({ stages }) => stages)
    .map((stage) => obstacleOf(stage, names.get(stage.address) ?? stage.address, pool))
    .find((reason) => reason !== null);
  if (obstacle !== undefined) return { reason: obstacle };
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

/** Why a member as it is now cannot hold what was planned for it. */
function obstacleOf({ address, bytes, plainRamBytes }: PlannedStage, name: string, pool: PoolNow): string | null {
  const member = pool.find(({ id }) => id === address);
  if (member === undefined || member.state === 'left') return `${name} is not in this pool now.`;
  if (member.state !== 'alive') return `${name} is not there now.`;
  if (member.paused.length > 0) return `${name} shares nothing now.`;
  if (member.reject !== null) return `${name} runs another build now.`;
  const needed = bytes.total - plainRamBytes;
  return needed > member.shareBytes
    ? `${name} would need ${formatBytes(needed)}, but shares ${formatBytes(member.shareBytes)} now.`
    : null;
}
