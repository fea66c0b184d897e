/** Carriers' requirements for a business that texts: its form, its review, and the page that shows how people opt in. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { numberOwner, phoneRoute, RegistrationKind, RegistrationState, SmsState } from './values.ts';

const base = '/api/v1/phone/numbers/:id/registration';
const ofNumber = { ...phoneRoute, owner: numberOwner, params: z.strictObject({ id: Id }) } as const;

export const entityTypes = ['PRIVATE_PROFIT', 'PUBLIC_PROFIT', 'NON_PROFIT', 'GOVERNMENT', 'SOLE_PROPRIETOR'] as const;

/** The industries that the 10DLC registry (The Campaign Registry) knows. */
export const verticals = [
  'AGRICULTURE',
  'COMMUNICATION',
  'CONSTRUCTION',
  'EDUCATION',
  'ENERGY',
  'ENTERTAINMENT',
  'FINANCIAL',
  'GAMBLING',
  'GOVERNMENT',
  'HEALTHCARE',
  'HOSPITALITY',
  'HUMAN_RESOURCES',
  'INSURANCE',
  'LEGAL',
  'MANUFACTURING',
  'NGO',
  'POLITICAL',
  'POSTAL',
  'PROFESSIONAL',
  'REAL_ESTATE',
  'RETAIL',
  'TECHNOLOGY',
  'TRANSPORTATION',
] as const;

export const useCases = [
  'LOW_VOLUME',
  'CUSTOMER_CARE',
  'ACCOUNT_NOTIFICATION',
  'DELIVERY_NOTIFICATION',
  'FRAUD_ALERT',
  'HIGHER_EDUCATION',
  'MARKETING',
  'MIXED',
  'POLLING_VOTING',
  'PUBLIC_SERVICE_ANNOUNCEMENT',
  'SECURITY_ALERT',
  '2FA',
  'SOLE_PROPRIETOR',
] as const;

const text = (max: number) => z.string().max(max);

/**
 * Every field may be absent here: all problems of the form are reported at once, by field, before any fee (400 `bad_request`, `problems`). A masked
 * EIN sent back means the stored one. In a correction an omitted field stays as it is, and an empty one is removed.
 */
export const RegistrationForm = z
  .strictObject({
    kind: z
      .string()
      .max(20)
      .optional()
      .meta({ description: '`10dlc` or `toll_free`; the default depends on the type of the number.' }),
    entityType: z.enum(entityTypes).optional().meta({ description: 'Default PRIVATE_PROFIT.' }),
    legalName: text(100).optional(),
    brandName: text(100).optional().meta({ description: 'The name that people know; default: the legal name.' }),
    ein: text(20).optional().meta({ description: 'Masked in every answer.' }),
    website: text(200).optional(),
    street: text(100).optional(),
    city: text(100).optional(),
    region: text(50).optional().meta({ description: 'The two-letter state.' }),
    postalCode: text(12).optional(),
    country: text(2).optional().meta({ description: 'Default US.' }),
    contactFirstName: text(100).optional(),
    contactLastName: text(100).optional(),
    contactEmail: text(100).optional(),
    contactPhone: text(20).optional(),
    mobilePhone: text(20).optional().meta({ description: 'For sole proprietors: where the code is sent.' }),
    stockSymbol: text(10).optional(),
    stockExchange: text(40).optional(),
    vertical: text(40).optional(),
    useCase: text(40).optional(),
    subUseCases: z.array(text(40)).max(5).optional(),
    description: text(4096).optional().meta({ description: 'What the texts are for.' }),
    sampleMessages: z.array(text(1024)).max(5).optional(),
    monthlyMessages: z.number().int().min(1).max(10_000_000).optional(),
    optInPageUrl: text(500).optional(),
    optInWorkflow: text(4096).optional().meta({ description: 'Stored, never sent: the flow is generated.' }),
    termsUrl: text(500).optional(),
    privacyUrl: text(500).optional(),
  })
  .meta({ id: 'PhoneRegistrationForm' });
export type RegistrationForm = z.infer<typeof RegistrationForm>;

/** The problem, and its field of the form; null: no particular field. */
export const FormProblem = z.strictObject({ field: z.string().nullable(), text: z.string() });

/** One thing that happened, oldest first. `field`: of the form, where one is at fault. */
export const RegistrationStep = z.strictObject({
  step: z.enum(['filed', 'brand', 'code', 'campaign', 'number', 'verification']),
  state: z.enum(['waiting', 'working', 'done', 'failed']),
  text: z.string(),
  field: z.string().nullable(),
  at: Time,
});
export type RegistrationStep = z.infer<typeof RegistrationStep>;

/** Of a registered business, while the number keeps texting; the earlier registration holds until all of it is accepted. */
export const Correction = z
  .strictObject({
    state: z.enum(['pending', 'taken', 'refused']),
    fields: z.array(z.string()).meta({ description: 'The fields of the form that it changes.' }),
    form: RegistrationForm.meta({ description: 'The form once it is accepted.' }),
    reason: z.string().optional().meta({
      description: 'Why it was refused; while it is pending, `waiting: …` says why it has not been sent yet.',
    }),
    problems: z.array(FormProblem).meta({ description: 'What to change in the form if it was refused.' }),
    nextRetryAt: Time.nullable(),
    askedAt: Time,
    decidedAt: Time.nullable(),
  })
  .meta({ id: 'PhoneRegistrationCorrection' });
export type Correction = z.infer<typeof Correction>;

export const Registration = z
  .strictObject({
    id: Id,
    kind: RegistrationKind,
    state: RegistrationState,
    rejectionReason: z.string().optional(),
    smsState: SmsState,
    campaignId: z.string().nullable(),
    form: RegistrationForm,
    nextRetryAt: Time.nullable(),
    steps: z.array(RegistrationStep),
    problems: z.array(FormProblem).meta({ description: 'What to correct if the registration was rejected.' }),
    needsPin: z.boolean().meta({ description: 'A code was sent to mobilePhone and must be entered.' }),
    optInUrl: z.string().meta({ description: 'The opt-in page that carriers see.' }),
    correctable: z.array(z.string()).meta({ description: 'Fields of the form that can be changed now.' }),
    correction: Correction.nullable().meta({
      description: 'The newest of the business, for whichever of its numbers; null: none.',
    }),
  })
  .meta({ id: 'PhoneRegistration' });
export type Registration = z.infer<typeof Registration>;

export const submitRegistration = defineRoute({
  ...ofNumber,
  op: 'submitPhoneRegistration',
  summary:
    'Files the business form, or corrects one that was rejected or approved; with ?dryRun=1 only checks it and returns the fees',
  method: 'POST',
  path: base,
  query: z.strictObject({ dryRun: z.enum(['1', 'true', '0', 'false']).optional() }),
  body: RegistrationForm,
  answers: {
    201: Registration,
    200: z.union([
      Registration,
      z.strictObject({
        dryRun: z.literal(true),
        plan: z.strictObject({
          kind: RegistrationKind,
          fees: z.array(z.strictObject({ what: z.string(), amount: z.string() })),
          messageFlow: z.string(),
          optInUrl: z.string(),
          corrects: z.boolean().meta({ description: 'True: what was filed is corrected in place.' }),
          changes: z.array(z.string()).meta({ description: 'The registered fields that would change.' }),
          warnings: z.array(FormProblem).meta({ description: 'What carriers often, but not always, refuse.' }),
        }),
      }),
    ]),
  },
});

export const getRegistration = defineRoute({
  ...ofNumber,
  op: 'getPhoneRegistration',
  summary:
    'Reads the registration of a number, from the carrier while it is pending. 404 registration_not_found: none was filed',
  method: 'GET',
  path: base,
  answers: { 200: Registration },
});

export const confirmRegistration = defineRoute({
  ...ofNumber,
  op: 'confirmPhoneRegistration',
  summary: 'Checks the code that a sole proprietor received; without a pin, sends a new one',
  method: 'POST',
  path: `${base}/otp`,
  body: z.strictObject({ pin: z.string().min(1).max(10).optional() }).optional(),
  answers: { 200: Registration },
});

export const optInPage = defineRoute({
  area: 'phone',
  errors: 'plain',
  op: 'phoneOptInPage',
  summary: 'The public page that says what a number is for and how to opt in, for people and carriers’ reviewers',
  method: 'GET',
  path: '/sms/:numberId',
  auth: ['public'],
  scope: null,
  owner: { none: 'a public page; it shows what the registration says in public' },
  params: z.strictObject({ numberId: z.string().min(1).max(200) }),
  kind: 'raw',
  answers: { 200: z.string() },
});

export const registrationRoutes = [submitRegistration, getRegistration, confirmRegistration, optInPage] as const;
