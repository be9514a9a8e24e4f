import type { PoolMemberDetail, ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { formatMs } from '../controls/formatMs.ts';
import { deviceLine, type ServedBytes, servedBytes, stateOf } from './memberFacts.ts';
import type { PoolDialog } from './PoolDialogs.tsx';

interface MemberCardProps {
  member: PoolMemberDetail;
  pipelines: readonly ServingPipeline[];
  /** Whether this machine may invite and remove. */
  admin: boolean;
  onAsk: (dialog: PoolDialog) => void;
  onPin: (pinned: boolean) => void;
}

/** One machine of the pool: what it is, what it shares, how it is. */
export function MemberCard({ member, pipelines, admin, onAsk, onPin }: MemberCardProps) {
  const { name, self, leads, shareBytes } = member;
  const isThere = member.state === 'alive' || member.state === 'suspect';
  const { text, tone, reason } = stateOf(member);
  const device = deviceLine(member);
  return (
    <article className="card member-card" aria-label={name} data-state={member.state}>
      <div className="member-card-head">
        <h2 title={name}>{name}</h2>
        <span className="badge" data-tone={tone}>
          {text}
        </span>
      </div>
      <p className="quiet small member-card-device" title={device}>
        {device === '' ? 'Its devices are not known yet' : device}
      </p>
      {isThere && (
        <>
          <ShareBar total={shareBytes} used={servedBytes(member.id, pipelines)} />
          <p className="quiet small number">{wayLine(member)}</p>
        </>
      )}
      {(self || leads || member.admin || member.pinned) && (
        <p className="row member-card-badges">
          {self && <span className="badge">this machine</span>}
          {leads && (
            <span className="badge" data-tone="accent">
              leads
            </span>
          )}
          {member.admin && <span className="badge">admin</span>}
          {member.pinned && <span className="badge">pinned</span>}
        </p>
      )}
      {reason !== null && (
        <p className="notice small" data-tone={tone}>
          {reason}
        </p>
      )}
      <div className="row member-card-actions">
        {self && (
          <>
            <button type="button" className="quiet-button" onClick={() => onAsk({ kind: 'rename', name })}>
              Rename
            </button>
            <button
              type="button"
              className="quiet-button"
              aria-pressed={member.pinned}
              title="Comes first in the next election"
              onClick={() => onPin(!member.pinned)}
            >
              Pin as leader
            </button>
          </>
        )}
        {!self && admin && (
          <>
            {!member.admin && (
              <button type="button" className="quiet-button" onClick={() => onAsk({ kind: 'promote', member })}>
                Make admin
              </button>
            )}
            <button type="button" className="quiet-button danger" onClick={() => onAsk({ kind: 'remove', member })}>
              Remove
            </button>
          </>
        )}
      </div>
    </article>
  );
}

function wayLine({ self, link }: PoolMemberDetail): string {
  if (link !== null) return `${formatMs(link.rttMs)} away · ${formatBytes(link.bytesPerSecond)}/s`;
  return self ? 'No network in between' : 'Its network is being measured';
}

function ShareBar({ total, used: { weights, kv, buffers } }: { total: number; used: ServedBytes }) {
  const used = weights + kv + buffers;
  const whole = Math.max(total, used, 1);
  const width = (bytes: number) => ({ width: `${((bytes / whole) * 100).toFixed(1)}%` });
  return (
    <div className="share">
      <div className="share-bar" aria-hidden="true">
        <span className="share-weights" style={width(weights)} />
        <span className="share-kv" style={width(kv)} />
        <span className="share-buffers" style={width(buffers)} />
      </div>
      <p className="small number share-words">
        {used > 0 && (
          <>
            <span className="share-key share-weights">{formatBytes(weights)} weights</span>
            <span className="share-key share-kv">{formatBytes(kv)} KV</span>
            <span className="share-key share-buffers">{formatBytes(buffers)} buffers</span>
          </>
        )}
        <span className="share-key">{formatBytes(Math.max(0, total - used))} free</span>
      </p>
    </div>
  );
}
