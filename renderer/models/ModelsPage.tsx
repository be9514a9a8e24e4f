import { useEffect, useMemo, useState } from 'react';
import type { LibraryModel, PoolModel, ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { Empty } from '../controls/Empty.tsx';
import { lineOf } from '../controls/lineOf.ts';
import { callMember, useMember } from '../member/memberStore.ts';
import { open, usePlayground } from '../planner/playgroundStore.ts';
import { exactChoice } from '../planner/scenario/libraryShapes.ts';
import { libraryChoice, type ModelChoice } from '../planner/scenario/modelChoice.ts';
import { roomOfPool } from '../planner/scenario/roomOfPool.ts';
import { Page } from '../shell/Page.tsx';
import { goTo } from '../shell/route.ts';
import { Added } from './Added.tsx';
import { Catalogue } from './Catalogue.tsx';
import { Downloads } from './Downloads.tsx';
import { Folders } from './Folders.tsx';
import { fitOfModel } from './fitOfModel.ts';
import { type ModelDialog, ModelDialogs } from './ModelDialogs.tsx';
import { ModelRow } from './ModelRow.tsx';
import { PoolModels } from './PoolModels.tsx';
import { pipelinesOf } from './pipelinesOf.ts';
import './Models.css';
import '../serving/Serving.css';

/** The models of this machine, and of the others in the pool: take them in, see what fits, serve and stop them. */
export function ModelsPage() {
  const library = useMember((store) => store.library);
  const pool = useMember((store) => store.pool);
  const pipelines = useMember((store) => store.member?.pipelines ?? none);
  const [dialog, setDialog] = useState<ModelDialog | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const roomKey = JSON.stringify(
    pool?.members.map(({ id, shareBytes, state, paused }) => [id, shareBytes, state, paused]),
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: heartbeats change the pool; what fits depends on these alone
  const room = useMemo(() => roomOfPool(pool?.members ?? []), [roomKey]);
  const choices = useChoices(library?.models ?? noModels);
  const perform = (work: Promise<unknown>) => {
    setProblem(null);
    work.catch((cause: unknown) => setProblem(lineOf(cause)));
  };
  const plan = (model: LibraryModel | PoolModel) =>
    perform(
      exactChoice(model).then((choice) => {
        const { question } = usePlayground.getState().history.present;
        open({ question: { ...question, ...room, model: choice }, positions: {} });
        goTo('planner');
      }),
    );
  const pull = (reference: string) => perform(callMember('pullModel', { reference }));
  return (
    <Page
      title="Models"
      actions={
        <>
          <button type="button" className="quiet-button" onClick={() => setDialog({ kind: 'import' })}>
            Add from disk
          </button>
          <button type="button" className="quiet-button" onClick={() => setDialog({ kind: 'pull' })}>
            Download
          </button>
        </>
      }
    >
      {problem !== null && (
        <p className="notice" data-tone="problem" role="alert">
          {problem}
        </p>
      )}
      <Added />
      {library !== null && (
        <Downloads
          downloads={library.downloads}
          onStop={(download) => perform(callMember('stopPull', { download }))}
          onDiscard={(download) => setDialog({ kind: 'discard', download })}
          onResume={pull}
        />
      )}
      {library?.models.length === 0 && library.elsewhere.length === 0 && (
        <section className="card" aria-label="No models yet">
          <Empty icon="models" title="No model on this machine yet">
            <p>Drop a GGUF anywhere on this window, or download one from the list below.</p>
            {library.hasDemoModel && (
              <p>
                <button type="button" className="button" onClick={() => perform(callMember('takeDemoModel', {}))}>
                  Try the demo model
                </button>
              </p>
            )}
          </Empty>
        </section>
      )}
      <ul className="models">
        {library?.models.map((model) => (
          <ModelRow
            key={model.id}
            model={model}
            hasNamesake={library.models.some(({ id, name }) => name === model.name && id !== model.id)}
            fit={fitOfModel(choices.get(model.id) ?? libraryChoice(model, null), room)}
            pipelines={pipelinesOf(model, pipelines)}
            onServe={() => perform(callMember('serve', { model: model.id }))}
            onPlan={() => plan(model)}
            onStop={() => setDialog({ kind: 'stop', model: servedName(model, pipelines) })}
            onRemove={() => setDialog({ kind: 'remove', model })}
          />
        ))}
      </ul>
      {library !== null && (
        <PoolModels
          models={library.elsewhere}
          own={library.models}
          pipelines={pipelines}
          fitOf={(model) => fitOfModel(libraryChoice(model, null), room)}
          onServe={({ id }) => perform(callMember('serve', { model: id }))}
          onPlan={plan}
          onStop={(model) => setDialog({ kind: 'stop', model })}
        />
      )}
      {library !== null && (
        <Folders
          folders={library.folders}
          skipped={library.skipped}
          onRemove={(path) => perform(callMember('removeModelFolder', { path }))}
        />
      )}
      <Catalogue room={roomKey ?? ''} onPull={pull} />
      {dialog !== null && <ModelDialogs dialog={dialog} onClose={() => setDialog(null)} />}
    </Page>
  );
}

const none: ServingPipeline[] = [];
const noModels: LibraryModel[] = [];

/** What the planner is told of each model, by id, as soon as its header has been read. */
function useChoices(models: readonly LibraryModel[]): ReadonlyMap<string, ModelChoice> {
  const [choices, setChoices] = useState<ReadonlyMap<string, ModelChoice>>(new Map());
  const ids = models.map(({ id }) => id).join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: hashing changes the list often, what the headers say depends on the ids alone
  useEffect(() => {
    let current = true;
    void Promise.all(models.map(async (model) => [model.id, await exactChoice(model)] as const)).then(
      (read) => current && setChoices(new Map(read)),
    );
    return () => {
      current = false;
    };
  }, [ids]);
  return choices;
}

function servedName(model: LibraryModel, pipelines: readonly ServingPipeline[]): string {
  return pipelinesOf(model, pipelines)[0]?.modelId ?? model.name;
}
