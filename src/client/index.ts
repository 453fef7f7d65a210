/** The client package of the Team Customer API. Its README is the guide `/docs/client`. */
export { createClient, type Client, type Mode } from './client.ts';
export { ApiError, ConnectionError, type Problem, type ProblemCode } from './errors.ts';
export { followEvents, type FollowOptions } from './follow-events.ts';
export type { DeprecationInfo, ResponseInfo, RetryInfo } from './hooks.ts';
export type { List } from './paging.ts';
export type { ClientOptions, FetchedResponse, RequestOptions, RequestParts } from './request.ts';
/** The models by name, such as `Training`, and the types of the whole document. */
export type * from './operations.ts';
export { verifyWebhook } from './verify-webhook.ts';
export {
  WebhookVerificationError,
  type WebhookEvent,
  type WebhookEventData,
  type WebhookEventType,
  type WebhookHeaders,
  type WebhookVerificationOptions,
  type WebhookVerificationReason,
} from './webhook-delivery.ts';
