/**
 * Brands at the registry, on the carrier's wire: filing, vetting and correcting them, and the code that a sole
 * proprietor confirms.
 */
import { createHash } from 'node:crypto';
import type {
  BrandGetFeedbackResponse,
  BrandSMSOtpStatus,
  TelnyxBrand,
} from 'telnyx/resources/messaging-10dlc/brand/brand';
import { iso } from '../../src/kit/clock/clock.ts';
import { type Call, type Json, ok, type Reply, type Route } from './exchange.ts';
import { handsetFor } from './handsets.ts';
import type { JobHandlers } from './jobs.ts';
import { notFound, refused } from './refusal.ts';
import { demanded, entityTypes, given, listed, longest, records, verticals } from './registry-fields.ts';
import type { SimBrand } from './state.ts';
import type { Texts } from './texts.ts';
import type { World } from './world.ts';

/** Dollars, one-time. */
const brandFee = 4;
const codeLives = 24 * 60 * 60 * 1000;
const maxBrandsOfMobile = 3;
/** An EIN that the tax office does not know, so that a person can see a refusal. */
const unknownEin = /0000$/;
const at = '/10dlc/brand';
/** Sender of a code: a short code. */
const registrySender = '57873';

export function createBrands(world: World, texts: Texts): { routes: readonly Route[]; jobs: JobHandlers } {
  const { state } = world;
  const brand = (call: Call) => brandIn(world, call);
  const tell = (made: SimBrand, type: string, more?: Json) => tellOf(world, made, type, more);

  function check(body: Json): void {
    for (const field of ['entityType', 'displayName', 'country', 'email', 'vertical']) demanded(body, field);
    listed(body, 'entityType', entityTypes);
    listed(body, 'vertical', verticals);
    longest(body, { displayName: 100, companyName: 100, email: 100, street: 100, city: 100, website: 100, ein: 20 });
    if (body.entityType === 'SOLE_PROPRIETOR') {
      for (const field of ['firstName', 'lastName', 'mobilePhone']) demanded(body, field);
      if (!/^\+1\d{10}$/.test(String(body.mobilePhone)))
        throw refused(400, '10015', 'Bad Request', 'mobilePhone is no US or Canadian mobile number.', {
          pointer: '/mobilePhone',
        });
    } else for (const field of ['companyName', 'ein']) demanded(body, field);
  }

  function create({ body }: Call): Reply {
    check(body);
    const isSole = body.entityType === 'SOLE_PROPRIETOR';
    const ofMobile = Object.values(state.brands).filter(
      ({ asked }) => asked.entityType === 'SOLE_PROPRIETOR' && asked.mobilePhone === body.mobilePhone,
    );
    if (isSole && ofMobile.length >= maxBrandsOfMobile)
      throw refused(400, '10015', 'Bad Request', 'mobilePhone has been used for three sole proprietor brands.', {
        pointer: '/mobilePhone',
      });
    const id = world.id();
    const made: SimBrand = {
      id,
      tcrId: `B${id.slice(0, 6).toUpperCase()}`,
      asked: { ...body },
      status: 'REGISTRATION_PENDING',
      identity: 'UNVERIFIED',
      reasons: [],
      code: null,
      createdAt: world.now(),
    };
    // A sole proprietor pays only after entering the code.
    if (!isSole) world.charge('brand', brandFee, id);
    state.brands[id] = made;
    if (!isSole && world.strikes('brand_slow') === null) vetLater(made);
    return ok(shape(made));
  }

  function vetLater(made: SimBrand): void {
    world.forget((job) => job.kind === 'brand.vetted' && job.args.id === made.id);
    world.later({ what: `brand ${nameOf(made)}: vetted`, kind: 'brand.vetted', args: { id: made.id }, after: 6_000 });
  }

  function vetted({ id = '' }: Record<string, string>): void {
    const made = state.brands[id];
    if (made === undefined) return;
    const mismatch = world.strikes('brand_mismatch', nameOf(made));
    const ein = String(made.asked.ein ?? '').replace(/\D/g, '');
    if (mismatch !== null || unknownEin.test(ein)) {
      made.status = 'REGISTRATION_FAILED';
      made.identity = 'UNVERIFIED';
      made.reasons = [
        {
          category: 'TAX_ID',
          fields: Array.isArray(mismatch?.given.fields) ? mismatch.given.fields.map(String) : ['ein', 'companyName'],
          description: String(mismatch?.given.text ?? 'The EIN and the legal name do not belong together.'),
        },
      ];
      tell(made, 'REGISTRATION');
      return;
    }
    made.status = 'OK';
    if (world.strikes('brand_unverified', nameOf(made)) !== null) {
      made.identity = 'UNVERIFIED';
      made.reasons = [
        { category: 'OTHERS', fields: ['companyName'], description: 'The identity of the business was not confirmed.' },
      ];
    } else {
      made.identity = 'VERIFIED';
      made.reasons = [];
    }
    tell(made, 'TCR_BRAND_UPDATE', { eventType: 'BRAND_ADD' });
  }

  /** Replaces the whole record, except the fields by which a brand was verified. */
  function change(call: Call): Reply {
    const made = brand(call);
    const { mobilePhone, successSms } = made.asked;
    check({ ...call.body, mobilePhone });
    const isVerified = made.status === 'OK' && made.identity !== 'UNVERIFIED';
    for (const field of isVerified ? ['companyName', 'ein', 'entityType', 'country'] : [])
      if (call.body[field] !== made.asked[field])
        throw refused(400, '10015', 'Bad Request', `${field} of a verified brand cannot be changed.`, {
          pointer: `/${field}`,
        });
    made.asked = { ...call.body, mobilePhone, successSms };
    if (!isVerified || world.strikes('brand_vetted_again', nameOf(made)) !== null) {
      made.status = 'REGISTRATION_PENDING';
      if (made.asked.entityType !== 'SOLE_PROPRIETOR') vetLater(made);
    }
    return ok(shape(made));
  }

  function revet(call: Call): Reply {
    const made = brand(call);
    made.status = 'REGISTRATION_PENDING';
    vetLater(made);
    return ok(shape(made));
  }

  function feedback(call: Call): Reply {
    const made = brand(call);
    return ok({
      brandId: made.id,
      category: made.reasons.map((reason) => ({
        id: reason.category,
        displayName: reason.category,
        description: reason.description,
        fields: reason.fields,
      })),
    } satisfies BrandGetFeedbackResponse);
  }

  function list(call: Call): Reply {
    const name = call.query.get('displayName');
    const type = call.query.get('entityType');
    const all = Object.values(state.brands)
      .filter(({ asked }) => name === null || String(asked.displayName).includes(name))
      .filter(({ asked }) => type === null || asked.entityType === type);
    return records(call, all.map(shape));
  }

  return {
    routes: [
      { at: `POST ${at}`, op: 'brand.create', handle: create },
      { at: `GET ${at}`, op: 'brand.list', handle: list },
      { at: `GET ${at}/feedback/:id`, op: 'brand.feedback', handle: feedback },
      {
        at: `GET ${at}/:id`,
        op: 'brand.read',
        handle: (call) => {
          const made = brand(call);
          const campaigns = Object.values(state.campaigns).filter(({ brandId }) => brandId === made.id);
          return ok({ ...shape(made), assignedCampaignsCount: campaigns.length });
        },
      },
      { at: `PUT ${at}/:id`, op: 'brand.change', handle: change },
      { at: `PUT ${at}/:id/revet`, op: 'brand.revet', handle: revet },
      {
        at: `DELETE ${at}/:id`,
        op: 'brand.delete',
        handle: (call) => {
          delete state.brands[brand(call).id];
          return { status: 204, body: undefined };
        },
      },
      ...codeRoutes(world, texts),
    ],
    jobs: { 'brand.vetted': vetted },
  };
}

/** The code by which a sole proprietor confirms their mobile number. */
function codeRoutes(world: World, texts: Texts): readonly Route[] {
  const { state } = world;

  function sendCode(call: Call): Reply {
    const made = brandIn(world, call);
    if (made.asked.entityType !== 'SOLE_PROPRIETOR')
      throw refused(400, '10015', 'Bad Request', 'The brand is not of a sole proprietor.');
    const pinSms = demanded(call.body, 'pinSms');
    demanded(call.body, 'successSms');
    if (!pinSms.includes('@OTP_PIN@'))
      throw refused(400, '10015', 'Bad Request', 'pinSms does not contain @OTP_PIN@.', { pointer: '/pinSms' });
    longest(call.body, { pinSms: 500, successSms: 500 });
    const reference = world.id();
    const digest = createHash('sha256').update(`${state.seed}:pin:${reference}`).digest();
    const pin = String(digest.readUInt32BE(0) % 1_000_000).padStart(6, '0');
    made.code = { pin, reference, sentAt: world.time(), tries: 0, verifiedAt: null };
    made.asked.successSms = call.body.successSms;
    const mobile = String(made.asked.mobilePhone);
    handsetFor(state, mobile);
    if (world.strikes('code_undelivered', mobile) === null)
      texts.sendOwn(registrySender, mobile, pinSms.replaceAll('@OTP_PIN@', pin), null);
    return ok({ brandId: made.id, referenceId: reference });
  }

  function checkCode(call: Call): Reply {
    const made = brandIn(world, call);
    const pin = given(call.body, 'otpPin') ?? '';
    const { code } = made;
    const wrong = (why: string) => refused(400, '10015', 'Bad Request', why, { pointer: '/otpPin' });
    if (code === null) throw wrong('No code was sent for this brand.');
    code.tries += 1;
    if (world.strikes('code_expired') !== null || world.time() - code.sentAt > codeLives)
      throw wrong('The OTP pin has expired.');
    if (pin !== code.pin) throw wrong('The OTP pin is invalid.');
    if (code.verifiedAt === null) {
      world.charge('brand', brandFee, made.id);
      code.verifiedAt = world.time();
      made.status = 'OK';
      made.identity = 'VERIFIED';
      texts.sendOwn(registrySender, String(made.asked.mobilePhone), String(made.asked.successSms), null);
      tellOf(world, made, 'BRAND_OTP_VERIFIED');
    }
    return { status: 204, body: undefined };
  }

  function codeState(made: SimBrand): Reply {
    const { code } = made;
    if (code === null) throw notFound('OTP request');
    const expired = world.time() - code.sentAt > codeLives;
    return ok({
      brandId: made.id,
      referenceId: code.reference,
      mobilePhone: String(made.asked.mobilePhone),
      requestDate: iso(code.sentAt),
      deliveryStatus: code.verifiedAt !== null ? 'VERIFIED' : expired ? 'EXPIRED' : 'DELIVERED_HANDSET',
      ...(code.verifiedAt === null ? {} : { verifyDate: iso(code.verifiedAt) }),
    } satisfies BrandSMSOtpStatus);
  }

  return [
    {
      at: `GET ${at}/smsOtp/:reference`,
      op: 'brand.codeByReference',
      handle: ({ params }) => {
        const found = Object.values(state.brands).find(({ code }) => code?.reference === params.reference);
        if (found === undefined) throw notFound('OTP request');
        return codeState(found);
      },
    },
    { at: `POST ${at}/:id/smsOtp`, op: 'brand.sendCode', handle: sendCode },
    { at: `PUT ${at}/:id/smsOtp`, op: 'brand.checkCode', handle: checkCode },
    { at: `GET ${at}/:id/smsOtp`, op: 'brand.code', handle: (call) => codeState(brandIn(world, call)) },
  ];
}

function brandIn({ state }: World, call: Call): SimBrand {
  const found = state.brands[call.params.id as string];
  if (found === undefined) throw notFound('brand');
  return found;
}

function tellOf(world: World, made: SimBrand, type: string, more: Json = {}): void {
  const failed = made.status === 'REGISTRATION_FAILED';
  world.emit(given(made.asked, 'webhookURL') ?? null, '10dlc.brand.update', {
    type,
    brandId: made.id,
    tcrBrandId: made.tcrId,
    ...(type === 'REGISTRATION' ? { status: failed ? 'failed' : 'success' } : {}),
    ...(failed ? { reasons: made.reasons.map(({ fields, description }) => ({ fields, description })) } : {}),
    brandIdentityStatus: made.identity,
    ...more,
  });
}

export function nameOf(brand: SimBrand): string {
  return String(brand.asked.displayName ?? brand.id);
}

function shape(brand: SimBrand): TelnyxBrand {
  const { successSms: _, ...asked } = brand.asked as unknown as TelnyxBrand & { successSms?: string };
  return {
    ...asked,
    brandRelationship: 'BASIC_ACCOUNT',
    brandId: brand.id,
    tcrBrandId: brand.tcrId,
    status: brand.status,
    identityStatus: brand.identity,
    ...(brand.reasons.length === 0
      ? {}
      : { failureReasons: brand.reasons.map(({ description }) => description).join(' ') }),
    createdAt: brand.createdAt,
    updatedAt: brand.createdAt,
  };
}
