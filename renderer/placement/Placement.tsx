import { useEffect, useMemo, useRef, useState } from 'react';
import type { PoolMemberDetail, ServingPipeline } from '../../electron/gateway/memberApi.ts';
import { formatBytes } from '../../electron/planner/formatBytes.ts';
import { useChat } from '../chat/chat.ts';
import { formatRate } from '../controls/formatMs.ts';
import { useMember } from '../member/memberStore.ts';
import { ArrowHeads } from '../planner/graph/ArrowHeads.tsx';
import { Life } from '../serving/Life.tsx';
import { SmallPlot } from '../serving/SmallPlot.tsx';
import { StopButton } from '../serving/StopButton.tsx';
import { type Sample, useServing } from '../serving/servingStore.ts';
import { LiveGraph } from './LiveGraph.tsx';
import { liveRoom } from './liveRoom.ts';
import { StageFigures } from './StageFigures.tsx';
import './Placement.css';
import '../serving/Serving.css';

/** Where the layers of every serving model lie, and how often activations travel. */
export function Placement() {
  const pipelines = useMember((store) => store.member?.pipelines ?? none);
  const shown = pipelines.filter(({ state }) => state !== 'stopped');
  return (
    <>
      <ArrowHeads />
      {shown.map((pipeline) => (
        <PipelinePicture key={pipeline.id} pipeline={pipeline} />
      ))}
    </>
  );
}

const none: ServingPipeline[] = [];
const alone: PoolMemberDetail[] = [];
const FLOWS_MS = 2_500;

/** Whether tokens travel: this window waits for an answer, or one has just ended elsewhere. */
function useFlow({ modelId, state, lastTokensPerSecond }: ServingPipeline): boolean {
  const [recent, setRecent] = useState(false);
  const before = useRef(lastTokensPerSecond);
  useEffect(() => {
    if (before.current === lastTokensPerSecond) return;
    before.current = lastTokensPerSecond;
    setRecent(true);
    const timer = setTimeout(() => setRecent(false), FLOWS_MS);
    return () => clearTimeout(timer);
  }, [lastTokensPerSecond]);
  const asked = useChat((store) => store.running?.model === modelId);
  return state === 'serving' && (recent || asked);
}

function PipelinePicture({ pipeline }: { pipeline: ServingPipeline }) {
  const { modelId, placement, hops, lastTokensPerSecond, figures, state } = pipeline;
  const pool = useMember((store) => store.pool?.members ?? alone);
  const pipelines = useMember((store) => store.member?.pipelines ?? none);
  const room = useMemo(() => liveRoom(pipeline, pool, pipelines), [pipeline, pool, pipelines]);
  const bytes = placement.reduce((sum, stage) => sum + stage.bytes, 0);
  const samples = useServing((store) => store.samples[pipeline.id]);
  const flows = useFlow(pipeline);
  return (
    <section className="card placement" aria-label={`Placement of ${modelId}`}>
      <div className="placement-title">
        <h2>{modelId}</h2>
        {state !== 'failed' && <StopButton pipeline={pipeline} />}
      </div>
      {state !== 'serving' && <Life pipeline={pipeline} />}
      {placement.length > 0 && state !== 'failed' && (
        <div className="placement-head">
          <dl className="facts">
            <Fact name="Members" value={String(placement.length)} />
            <Fact name={hops === 1 ? 'Hop' : 'Hops'} value={String(hops)} />
            <Fact name="Memory" value={formatBytes(bytes)} />
            <Fact name="Tokens / s" value={lastTokensPerSecond === null ? '–' : formatRate(lastTokensPerSecond)} />
            {figures !== null && (
              <>
                <Fact name="Predicted" value={formatRate(figures.predictedTokensPerSecond.one)} />
                <Fact name="Running" value={String(figures.running)} />
                <Fact name="Waiting" value={String(figures.queue)} />
                {figures.acceptance !== null && <Fact name="Drafts accepted" value={percent(figures.acceptance)} />}
              </>
            )}
          </dl>
          {samples !== undefined && samples.length > 1 && <Plots samples={samples} />}
        </div>
      )}
      {placement.length > 0 && (
        <LiveGraph id={pipeline.id} room={room} flows={flows} label={`The room that serves ${modelId}`} />
      )}
      {figures !== null && state !== 'failed' && <StageFigures room={room} />}
    </section>
  );
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function Plots({ samples }: { samples: readonly Sample[] }) {
  const plotted = useMemo(
    () => ({
      rates: samples.map(({ tokensPerSecond }) => tokensPerSecond),
      queues: samples.map(({ queue }) => queue),
      accepted: samples.map(({ acceptance }) => acceptance),
    }),
    [samples],
  );
  const last = samples.at(-1);
  if (last === undefined) return null;
  return (
    <div className="small-plots">
      <SmallPlot name="Tokens / s" values={plotted.rates} now={formatRate(last.tokensPerSecond)} />
      <SmallPlot name="Queue" values={plotted.queues} most={4} now={String(last.queue)} />
      {last.acceptance !== null && (
        <SmallPlot name="Accepted" values={plotted.accepted} now={percent(last.acceptance)} />
      )}
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
