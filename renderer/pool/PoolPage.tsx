import { useCallback, useEffect, useState } from 'react';
import type { PoolState } from '../../electron/gateway/memberApi.ts';
import { Empty } from '../controls/Empty.tsx';
import { lineOf } from '../controls/lineOf.ts';
import { callMember, useMember } from '../member/memberStore.ts';
import { Placement } from '../placement/Placement.tsx';
import { NewsList } from '../serving/NewsList.tsx';
import { Page } from '../shell/Page.tsx';
import { hrefOf, parseRoute } from '../shell/route.ts';
import { LoneAdmin } from './LoneAdmin.tsx';
import { MemberCard } from './MemberCard.tsx';
import { OpenInvites } from './OpenInvites.tsx';
import { type PoolDialog, PoolDialogs } from './PoolDialogs.tsx';
import './Pool.css';

/** The machines of the pool, and what they serve. */
export function PoolPage() {
  const pool = useMember((store) => store.pool);
  const [dialog, setDialog] = useState<PoolDialog | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useJoinAsked(useCallback(() => setDialog({ kind: 'join' }), []));
  const perform = (work: Promise<unknown>) => {
    setProblem(null);
    work.catch((cause: unknown) => setProblem(lineOf(cause)));
  };
  return (
    <Page
      title={pool?.status.pool?.name ?? 'Pool'}
      actions={pool !== null && <PoolActions pool={pool} onAsk={setDialog} perform={perform} />}
    >
      {problem !== null && (
        <p className="notice" data-tone="problem" role="alert">
          {problem}
        </p>
      )}
      {pool !== null && (
        <>
          {pool.status.pool === null && <NoPool onAsk={setDialog} />}
          <LoneAdmin members={pool.members} onPromote={(member) => setDialog({ kind: 'promote', member })} />
          <OpenInvites invites={pool.invites} perform={perform} />
          <Members pool={pool} onAsk={setDialog} perform={perform} />
        </>
      )}
      <Serving />
      <NewsList />
      {dialog !== null && <PoolDialogs dialog={dialog} onClose={() => setDialog(null)} />}
    </Page>
  );
}

/** The tray of the desktop app leads here with `#/pool?ask=join`. */
function useJoinAsked(onAsked: () => void): void {
  useEffect(() => {
    const look = () => {
      const { page, query } = parseRoute(window.location.hash);
      if (page !== 'pool' || query.get('ask') !== 'join') return;
      // Or going back to the page would ask again.
      window.history.replaceState(null, '', hrefOf('pool'));
      onAsked();
    };
    look();
    window.addEventListener('hashchange', look);
    return () => window.removeEventListener('hashchange', look);
  }, [onAsked]);
}

interface PartProps {
  pool: PoolState;
  onAsk: (dialog: PoolDialog) => void;
  perform: (work: Promise<unknown>) => void;
}

function PoolActions({ pool, onAsk, perform }: PartProps) {
  const own = pool.members.find(({ self }) => self);
  const paused = own?.paused.includes('owner') ?? false;
  const place = pool.status.pool;
  return (
    <>
      <button
        type="button"
        className="quiet-button"
        aria-pressed={paused}
        onClick={() => perform(callMember(paused ? 'resume' : 'pause', {}))}
      >
        {paused ? 'Share again' : 'Pause sharing here'}
      </button>
      {place !== null && (
        <>
          {own?.admin && (
            <button
              type="button"
              className="quiet-button"
              onClick={() => onAsk({ kind: 'renamePool', name: place.name })}
            >
              Rename the pool
            </button>
          )}
          <button type="button" className="quiet-button" onClick={() => onAsk({ kind: 'leave', pool: place.name })}>
            Leave
          </button>
          {own?.admin && (
            <button type="button" className="button" onClick={() => onAsk({ kind: 'invite' })}>
              Invite
            </button>
          )}
        </>
      )}
    </>
  );
}

function NoPool({ onAsk }: { onAsk: (dialog: PoolDialog) => void }) {
  return (
    <section className="card no-pool" aria-label="No pool yet">
      <div>
        <h2>Bring the machines of this room together</h2>
        <p className="quiet">
          A pool lets several machines serve one model that none of them could hold alone. Create one here and invite
          the others, or join with a token that somebody gave you.
        </p>
      </div>
      <div className="row">
        <button type="button" className="button" onClick={() => onAsk({ kind: 'create' })}>
          Create a pool
        </button>
        <button type="button" className="quiet-button no-pool-join" onClick={() => onAsk({ kind: 'join' })}>
          Join with a token
        </button>
      </div>
    </section>
  );
}

function Members({ pool, onAsk, perform }: PartProps) {
  const admin = pool.members.some(({ self, admin: is }) => self && is);
  return (
    <section aria-label="Members">
      <ul className="member-cards">
        {pool.members.map((member) => (
          <li key={member.id}>
            <MemberCard
              member={member}
              pipelines={pool.status.pipelines}
              admin={admin}
              onAsk={onAsk}
              onPin={(pinned) => perform(callMember(pinned ? 'pin' : 'unpin', {}))}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Serving() {
  const serves = useMember(({ member }) => member?.pipelines.some(({ state }) => state !== 'stopped') ?? false);
  if (serves) return <Placement />;
  return (
    <section className="card" aria-label="Serving">
      <Empty icon="models" title="No model is serving yet">
        <p>
          Drop a GGUF on this window and serve it on this machine and its neighbours. Without one, the list under Models
          begins with small ones that are downloaded for you. Where the layers lie will be seen here.
        </p>
        <a className="quiet-button" href={hrefOf('models')}>
          Choose a model
        </a>
      </Empty>
    </section>
  );
}
