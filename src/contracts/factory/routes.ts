/** Route table of the factory engine, served under `/api/factory`. */

import { checkGate } from '../approvals/gate.ts';
import { accountRoutes } from './account-routes.ts';
import { adoptRoutes } from './adopt-routes.ts';
import {
  agentHook,
  agentInput,
  agentScreen,
  agentScrollback,
  agentSize,
  agentStream,
  agentTranscript,
  captureAgent,
  explainAgent,
  getAgent,
  health,
  listAgents,
} from './agents-routes.ts';
import { budgetRoutes } from './budget-routes.ts';
import { conversationRoutes } from './conversation-routes.ts';
import { fileRoutes } from './file-routes.ts';
import { listGuests, stopGuests } from './guest-routes.ts';
import { addAgentImage } from './image-routes.ts';
import { modelRoutes } from './model-routes.ts';
import {
  createThread,
  drainQueue,
  factoryEventStream,
  listDeliveries,
  listMessages,
  listThreads,
  sendMessage,
} from './orchestration-routes.ts';
import { addPolicyRule, proposePolicyRules, removeAddedRule } from './policy-routes.ts';
import { progressRoutes } from './progress-routes.ts';
import { quickRunRoutes } from './quick-run-routes.ts';
import { reportRoutes } from './report-routes.ts';
import { trySandbox } from './sandbox-routes.ts';
import { scheduleRoutes } from './schedules-routes.ts';
import { searchRoutes } from './search-routes.ts';
import { spendingRoutes } from './spending-routes.ts';
import { checkTeam, listTeams, teamDown, teamUp } from './teams-routes.ts';
import { trustRoutes } from './trust-routes.ts';
import { waitRoutes } from './wait-routes.ts';
import { whyRoutes } from './why-routes.ts';
import { workEngineRoutes } from './work-engine/routes.ts';
import { workflowRoutes } from './workflow-routes.ts';
import { addDemo, doctor, getWorkspace } from './workspace-routes.ts';
import { worktreeRoutes } from './worktree-routes.ts';

export * from '../approvals/gate.ts';
export * from './account-routes.ts';
export * from './adopt-routes.ts';
export * from './agents-routes.ts';
export * from './budget-routes.ts';
export * from './conversation-routes.ts';
export * from './file-routes.ts';
export * from './guest-routes.ts';
export * from './image-routes.ts';
export * from './model-routes.ts';
export * from './orchestration-routes.ts';
export * from './policy-routes.ts';
export * from './progress-routes.ts';
export * from './quick-run-routes.ts';
export * from './report-routes.ts';
export * from './sandbox-routes.ts';
export * from './schedules-routes.ts';
export * from './search-routes.ts';
export * from './spending-routes.ts';
export * from './teams-routes.ts';
export * from './trust-routes.ts';
export * from './wait-routes.ts';
export * from './why-routes.ts';
export * from './workflow-routes.ts';
export * from './workspace-routes.ts';
export * from './worktree-routes.ts';

export const factoryRoutes = [
  ...adoptRoutes,
  ...accountRoutes,
  health,
  listAgents,
  getAgent,
  captureAgent,
  agentTranscript,
  agentScreen,
  agentStream,
  agentScrollback,
  agentInput,
  agentSize,
  explainAgent,
  agentHook,
  ...conversationRoutes,
  ...reportRoutes,
  listTeams,
  teamUp,
  teamDown,
  checkTeam,
  trySandbox,
  listGuests,
  stopGuests,
  sendMessage,
  listDeliveries,
  drainQueue,
  factoryEventStream,
  listThreads,
  createThread,
  listMessages,
  doctor,
  getWorkspace,
  addDemo,
  ...trustRoutes,
  ...workflowRoutes,
  ...quickRunRoutes,
  ...worktreeRoutes,
  ...fileRoutes,
  ...whyRoutes,
  ...waitRoutes,
  ...searchRoutes,
  ...progressRoutes,
  ...modelRoutes,
  ...spendingRoutes,
  ...budgetRoutes,
  ...scheduleRoutes,
  checkGate,
  addPolicyRule,
  proposePolicyRules,
  removeAddedRule,
  addAgentImage,
  ...workEngineRoutes,
] as const;
