import { compactPlan } from '../../planner/compactPlan.ts';
import { InvalidInput } from '../../planner/invalidInput.ts';
import { InvalidParams, type RpcMethod } from './jsonRpc.ts';

/** The method `clusterPlan`: the compact plan of its params, which reads nothing of this member. */
export const clusterPlan: RpcMethod = (params) => {
  try {
    return compactPlan(params);
  } catch (cause) {
    if (cause instanceof InvalidInput) throw new InvalidParams(cause.field, cause.message, { cause });
    throw cause;
  }
};
