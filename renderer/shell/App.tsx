import { type ComponentType, lazy, Suspense } from 'react';
import { EndpointPage } from '../endpoint/EndpointPage.tsx';
import { LogsPage } from '../logs/LogsPage.tsx';
import { useMember } from '../member/memberStore.ts';
import { DropZone } from '../models/DropZone.tsx';
import { PoolPage } from '../pool/PoolPage.tsx';
import { SettingsPage } from '../settings/SettingsPage.tsx';
import { Locked } from './Locked.tsx';
import { LostMember } from './LostMember.tsx';
import { Navigation } from './Navigation.tsx';
import { type PageId, usePage } from './route.ts';
import './App.css';

/** Large pages are loaded when they are first shown, so that the window is there at once. */
const PlannerPage = lazy(async () => ({ default: (await import('../planner/PlannerPage.tsx')).PlannerPage }));

const ModelsPage = lazy(async () => ({ default: (await import('../models/ModelsPage.tsx')).ModelsPage }));
const ChatPage = lazy(async () => ({ default: (await import('../chat/ChatPage.tsx')).ChatPage }));

const views: Record<PageId, ComponentType> = {
  pool: PoolPage,
  planner: PlannerPage,
  models: ModelsPage,
  chat: ChatPage,
  endpoint: EndpointPage,
  settings: SettingsPage,
  logs: LogsPage,
};

/** The whole window: the pages on the left, the one that is open beside them. */
export function App() {
  const page = usePage();
  const locked = useMember(({ connection }) => connection === 'locked');
  const known = useMember(({ member, pool, library, endpoint }) => {
    return member !== null && pool !== null && library !== null && endpoint !== null;
  });
  const View = views[page];
  return (
    <div className="app">
      <Navigation current={page} />
      {!locked && <DropZone />}
      <LostMember />
      {locked && <Locked />}
      {!locked && !known && <Waiting />}
      {!locked && known && (
        <Suspense fallback={<main className="page" aria-busy="true" />}>
          <View />
        </Suspense>
      )}
    </div>
  );
}

/** Until all is there that pages show, so that nothing on them moves when the rest comes. */
function Waiting() {
  return (
    <main className="page waiting" aria-busy="true">
      <p className="quiet">Waiting for the member on this machine …</p>
    </main>
  );
}
