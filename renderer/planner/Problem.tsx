import { IconButton } from '../controls/IconButton.tsx';
import { firstSentence } from './firstSentence.ts';
import { usePlayground } from './playgroundStore.ts';

/** What went wrong last, in one line that lies over the page, moves nothing and can be closed. */
export function Problem() {
  const problem = usePlayground((store) => store.problem);
  if (problem === null) return null;
  return (
    <div className="notice planner-problem" data-tone="problem">
      <p role="alert" title={problem}>
        {firstSentence(problem)}
      </p>
      <IconButton icon="close" label="Close the message" onClick={() => usePlayground.setState({ problem: null })} />
    </div>
  );
}
