export { lineOf } from '../../electron/planner/lineOf.ts';
