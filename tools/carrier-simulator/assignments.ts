/** Links numbers to campaigns, on the carrier's wire. A number can send texts only once it is linked. */
import type { PhoneNumberCampaign } from 'telnyx/resources/messaging-10dlc/phone-number-campaigns';
import { type Call, ok, type Reply, type Route } from './exchange.ts';
import type { JobHandlers } from './jobs.ts';
import { holderOf } from './numbers.ts';
import { notFound, refused } from './refusal.ts';
import { demanded, given, records } from './registry-fields.ts';
import type { SimAssignment, SimCampaign } from './state.ts';
import type { World } from './world.ts';

const maxNumbers = 49;

interface Assignments {
  readonly routes: readonly Route[];
  readonly jobs: JobHandlers;
  /** Runs the jobs that waited for this campaign. */
  provisioned(campaign: SimCampaign): void;
}

export function createAssignments(world: World): Assignments {
  const { state } = world;

  function assignment(call: Call): SimAssignment {
    const found = state.assignments[call.params.e164 as string];
    if (found === undefined) throw notFound('phone number campaign');
    return found;
  }

  function assign({ body }: Call): Reply {
    const e164 = demanded(body, 'phoneNumber');
    const campaignId = demanded(body, 'campaignId');
    const bad = (detail: string) => refused(400, '10015', 'Bad Request', detail);
    const campaign = state.campaigns[campaignId];
    if (campaign === undefined || campaign.status === 'EXPIRED') throw notFound('campaign');
    const number = holderOf(state, e164);
    if (number === null) throw bad(`${e164} is not a number of this account.`);
    if (number.profileId === null) throw bad(`${e164} is on no messaging profile.`);
    const there = Object.values(state.assignments).filter((one) => one.campaignId === campaignId && one.e164 !== e164);
    const isSole = campaign.asked.usecase === 'SOLE_PROPRIETOR';
    if (there.length >= (isSole ? 1 : maxNumbers)) throw bad('The campaign has as many numbers as it may have.');
    const made: SimAssignment = {
      e164,
      campaignId,
      status: 'PENDING_ASSIGNMENT',
      reason: null,
      createdAt: world.now(),
    };
    state.assignments[e164] = made;
    later(made);
    return ok(shape(made));
  }

  function later({ e164, campaignId }: SimAssignment): void {
    world.forget((job) => job.kind === 'assignment.done' && job.args.e164 === e164);
    world.later({
      what: `${e164}: linked to its campaign`,
      kind: 'assignment.done',
      args: { e164, campaignId },
      after: 3_000,
    });
  }

  function done({ e164 = '', campaignId = '' }: Record<string, string>): void {
    const made = state.assignments[e164];
    const campaign = state.campaigns[campaignId];
    if (made?.status !== 'PENDING_ASSIGNMENT' || made.campaignId !== campaignId || campaign === undefined) return;
    // It waits until the networks have set the campaign up.
    if (campaign.state !== 'MNO_PROVISIONED') return;
    const fails = world.strikes('assignment_fails', e164);
    made.status = fails === null ? 'ASSIGNED' : 'FAILED_ASSIGNMENT';
    made.reason =
      fails === null ? null : String(fails.given.reason ?? 'The number is registered with another carrier.');
    world.emit(given(campaign.asked, 'webhookURL') ?? null, '10dlc.phone_number.update', {
      type: 'ASSIGNMENT',
      phoneNumber: e164,
      campaignId,
      brandId: campaign.brandId,
      status: fails === null ? 'ADDED' : 'FAILED',
      ...(made.reason === null ? {} : { reasons: [made.reason] }),
    });
  }

  const at = '/10dlc/phone_number_campaigns';
  return {
    routes: [
      { at: `POST ${at}`, op: 'assignment.create', handle: assign },
      {
        at: `GET ${at}`,
        op: 'assignment.list',
        handle: (call) => {
          const campaignId = call.query.get('filter[telnyx_campaign_id]');
          return records(
            call,
            Object.values(state.assignments)
              .filter((one) => campaignId === null || one.campaignId === campaignId)
              .map(shape),
          );
        },
      },
      { at: `GET ${at}/:e164`, op: 'assignment.read', handle: (call) => ok(shape(assignment(call))) },
      {
        at: `DELETE ${at}/:e164`,
        op: 'assignment.end',
        handle: (call) => {
          const made = assignment(call);
          delete state.assignments[made.e164];
          return ok({ ...shape(made), assignmentStatus: 'PENDING_UNASSIGNMENT' });
        },
      },
    ],
    jobs: { 'assignment.done': done },
    provisioned(campaign) {
      for (const one of Object.values(state.assignments))
        if (one.campaignId === campaign.id && one.status === 'PENDING_ASSIGNMENT') later(one);
    },
  };

  function shape(made: SimAssignment): PhoneNumberCampaign {
    const campaign = state.campaigns[made.campaignId];
    return {
      phoneNumber: made.e164,
      campaignId: made.campaignId,
      telnyxCampaignId: made.campaignId,
      ...(campaign === undefined ? {} : { brandId: campaign.brandId, tcrCampaignId: campaign.tcrId }),
      assignmentStatus: made.status,
      ...(made.reason === null ? {} : { failureReasons: made.reason }),
      createdAt: made.createdAt,
      updatedAt: made.createdAt,
    };
  }
}
