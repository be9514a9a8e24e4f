import { useEffect } from 'react';
import { lineOf } from '../controls/lineOf.ts';
import { Page } from '../shell/Page.tsx';
import { parseRoute } from '../shell/route.ts';
import { Comparison } from './Comparison.tsx';
import { Explanation } from './Explanation.tsx';
import { RoomGraph } from './graph/RoomGraph.tsx';
import { Outcome } from './Outcome.tsx';
import { Problem } from './Problem.tsx';
import { MemberPanel } from './panel/MemberPanel.tsx';
import { ModelPanel } from './panel/ModelPanel.tsx';
import { PolicyPanel } from './panel/PolicyPanel.tsx';
import { open, redoChange, undoChange, usePlayground } from './playgroundStore.ts';
import { readShared } from './scenario/sharedScenario.ts';
import { Toolbar } from './Toolbar.tsx';
import './Planner.css';

/** The playground: a room, a model, and what the planner makes of them while one changes either. */
export function PlannerPage() {
  useSharedRoom();
  useShortcuts();
  const kept = usePlayground(({ compared }) => compared?.question ?? null);
  return (
    <Page title="Planner" actions={<Toolbar />} fills>
      <div className="planner">
        <div className="planner-view">{kept === null ? <Present /> : <Comparison kept={kept} />}</div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable with the keyboard */}
        <section className="planner-panel" aria-label="What to plan" tabIndex={0}>
          <MemberPanel />
          <ModelPanel />
          <PolicyPanel />
        </section>
        <Problem />
      </div>
    </Page>
  );
}

function Present() {
  const question = usePlayground(({ history }) => history.present.question);
  return (
    <>
      <Outcome question={question} />
      <RoomGraph />
      <Explanation question={question} />
    </>
  );
}

/** Opens the room of the address once, so that a reload or an undo does not bring it back. */
function useSharedRoom(): void {
  useEffect(() => {
    const take = () => {
      if (!parseRoute(window.location.hash).query.has('room')) return;
      const shared = window.location.hash;
      window.history.replaceState(null, '', '#/planner');
      try {
        open(readShared(shared));
      } catch (cause) {
        usePlayground.setState({ problem: lineOf(cause) });
      }
    };
    take();
    window.addEventListener('hashchange', take);
    return () => window.removeEventListener('hashchange', take);
  }, []);
}

/** Ctrl+Z and Ctrl+Shift+Z or Ctrl+Y, but in a text field its own. */
function useShortcuts(): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const writes = event.target instanceof HTMLInputElement && event.target.type === 'text';
      if (writes || !(event.ctrlKey || event.metaKey)) return;
      const key = event.key.toLowerCase();
      if (key !== 'z' && key !== 'y') return;
      event.preventDefault();
      if (key === 'z' && !event.shiftKey) undoChange();
      else redoChange();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
}
