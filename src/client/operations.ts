// Written by `npm run openapi` from the declarations of the operations. Do not edit.

export interface components {
    schemas: {
        /** @description The key, and the team that it belongs to. */
        Me: {
            /** @description The team that the key belongs to. */
            tenant_id: string;
            /** @description The plan of the team. */
            kind: ("team" | "enterprise") | (string & {}) | null;
            /** @description What the key may do. */
            scopes: (("users:read" | "users:write" | "trainings:read" | "evaluations:read" | "assignments:read" | "assignments:write" | "cases:read" | "cases:write" | "catalog:read" | "analytics:read" | "webhooks:manage") | (string & {}))[];
            /**
             * Format: int32
             * @description The tenant's limit: requests per minute over all its keys.
             */
            rate_limit_per_min: number | null;
            /** @description The privacy switches of the team. */
            privacy: {
                /** @description If false, emails, scores and per-person data are withheld. */
                member_detail_enabled: boolean;
            };
        };
        /** @description A call of the API, as the log has it. */
        LoggedRequest: {
            /** @description The `X-Request-Id` of the response. */
            id: string;
            /**
             * Format: date-time
             * @description When the request came.
             */
            created_at: string;
            /** @description The API key that called. */
            key_id: string;
            /** @description HTTP method of the request. */
            method: ("GET" | "POST" | "PATCH" | "DELETE") | (string & {});
            /** @description The path with the names of its parameters. */
            route: string;
            /**
             * Format: int32
             * @description HTTP status of the response; 499 if the caller hung up before it.
             */
            status: number;
            /**
             * Format: int32
             * @description How long the call took, in milliseconds.
             */
            duration_ms: number;
            /** @description The /24 network of the caller's address, or /48 for IPv6. */
            network: string | null;
            /** @description The `code` of the problem, if any. */
            error_code: string | null;
            /** @description Where the faults of the input were, without their values. */
            errors: {
                /** @description Where the value was. */
                path: string;
                /** @description The kind of fault. */
                code: string;
            }[] | null;
        };
        /** @description A person's membership in the team. */
        Member: {
            /** @description Id of the membership; the value for `{member_id}`. */
            id: string;
            /** @description The person; null until an invitation is accepted. */
            user_id: string | null;
            /** @description The person's address. Only while `member_detail_enabled` is on. */
            email?: string | null;
            /** @description What the person may do in the app. */
            role: ("owner" | "admin" | "member") | (string & {});
            /** @description `invited` until the invitation is accepted. */
            status: ("active" | "invited") | (string & {});
            /**
             * Format: date-time
             * @description When the membership became active.
             */
            joined_at: string | null;
        };
        /** @description A page of a list. */
        MemberPage: {
            /** @description The entries of the page. */
            data: components["schemas"]["Member"][];
            /** @description Pass it as `cursor` for the page that follows; null on the last page. A page before the last one can hold fewer entries than `limit`. */
            next_cursor: string | null;
        };
        /** @description It is done. */
        Ok: {
            /** @description Always true. */
            ok: boolean;
        };
        /** @description A training session, without its transcript. */
        Training: {
            /** @description Id of the training. */
            id: string;
            /** @description The person who trained. */
            user_id: string;
            /** @description Once there is an evaluation: `scored`. */
            status: ("started" | "aborted" | "completed" | "scored") | (string & {});
            /** @description Where it was held. */
            source: "app" | (string & {});
            /** @description The assignment that it was made for. */
            assignment_id: string | null;
            /**
             * Format: date-time
             * @description When it began.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description When it ended; null while it runs.
             */
            finished_at: string | null;
            /**
             * Format: int32
             * @description Seconds.
             */
            duration_s: number | null;
            /** @description Data of another system, returned as it was stored. */
            external_ref: {
                [key: string]: unknown;
            } | null;
            /** @description Id of a catalog entry. */
            situation_id: string | null;
            /** @description Id of a catalog entry. */
            personality_id: string | null;
            /** @description Id of a catalog entry. */
            industry_id: string | null;
            /** @description Id of a catalog entry. */
            role_id: string | null;
        };
        /** @description A page of a list. */
        TrainingPage: {
            /** @description The entries of the page. */
            data: components["schemas"]["Training"][];
            /** @description Pass it as `cursor` for the page that follows; null on the last page. A page before the last one can hold fewer entries than `limit`. */
            next_cursor: string | null;
        };
        /** @description The result of a scored training. */
        Evaluation: {
            /** @description The training that was scored. */
            training_id: string;
            /** @description The person who trained. */
            user_id: string;
            /** @description The scores. */
            score: {
                /** @description A number for each dimension that was scored: `closing`, `conversation_control`, `needs_analysis`, `objection_handling`, `value_argument`. */
                dimensions: {
                    [key: string]: number;
                };
                /**
                 * Format: int32
                 * @description Total score; null without one.
                 */
                total: number | null;
                /** @description How far the dimensions lie apart. */
                spread: number | null;
            };
            /** @description Up to 5, the most important first. */
            tips: {
                /** @description What to work on. */
                issue: string;
                /** @description Where in the conversation it happened. */
                moment: string;
                /** @description The rule behind it. */
                principle: string;
                /** @description What could be said instead. */
                rewrite: string;
                /** @description What that would change. */
                impact: string;
            }[];
            /** @description How far the goal was reached. */
            goal: "partial" | (string & {}) | null;
            /** @description Id of the methodology in the catalog. */
            methodology: string | null;
            /** @description What went best. */
            strongest: string | null;
            /** @description What would help most. */
            biggest_lever: string | null;
        };
        /** @description A training that a member is asked to do. */
        Assignment: {
            /** @description Id of the assignment. */
            id: string;
            /** @description `open`, `done`, or `revoked` when its member was removed. */
            status: ("open" | "done" | "revoked") | (string & {});
            /** @description What the recipient reads; null without one. */
            title: string | null;
            /** @description Id of a catalog entry. */
            situation_id: string | null;
            /** @description Id of a catalog entry. */
            personality_id: string | null;
            /** @description Id of a catalog entry. */
            industry_id: string | null;
            /** @description The recipient as a person; null until their invitation is accepted. */
            member_user_id: string | null;
            /** @description The recipient's address. Null while `member_detail_enabled` is off. */
            member_email: string | null;
            /** @description Free text for the recipient; null without one. */
            note: string | null;
            /**
             * Format: date
             * @description A calendar date; null without one.
             */
            due_date: string | null;
            /** @description The dimension to practise; null without one. */
            focus_dimension: ("closing" | "conversation_control" | "needs_analysis" | "objection_handling" | "value_argument") | (string & {}) | null;
            /** @description The training that completed it; null if none did. */
            completed_training_id: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string | null;
        };
        /** @description A page of a list. */
        AssignmentPage: {
            /** @description The entries of the page. */
            data: components["schemas"]["Assignment"][];
            /** @description Pass it as `cursor` for the page that follows; null on the last page. A page before the last one can hold fewer entries than `limit`. */
            next_cursor: string | null;
        };
        /** @description A case that the team shares. */
        Case: {
            /** @description Id of the case. */
            id: string;
            /** @description The person whose case it is. */
            user_id: string;
            /** @description What the case is called; null without a title. */
            title: string | null;
            /** @description The counterpart to practise with; null without one. */
            persona_id: string | null;
            /** @description Free-form JSON, as it was stored. */
            fields: {
                [key: string]: unknown;
            } | (unknown[] | null);
            /** @description Free-form JSON, as it was stored: for instance ids in the client's own system. */
            external_ref: {
                [key: string]: unknown;
            } | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string | null;
        };
        /** @description A page of a list. */
        CasePage: {
            /** @description The entries of the page. */
            data: components["schemas"]["Case"][];
            /** @description Pass it as `cursor` for the page that follows; null on the last page. A page before the last one can hold fewer entries than `limit`. */
            next_cursor: string | null;
        };
        /** @description What the team may use, within its policy. */
        Catalog: {
            /**
             * @description What a training can be about.
             * @default []
             */
            situation: {
                /** @description Id of the entry. */
                id: string;
                /** @description In the language of `Accept-Language`, or in the other one if it has no name in that. */
                name: string | null;
                /** @description The name of its icon; null without one. */
                icon: string | null;
            }[];
            /**
             * @description Who the counterpart can be.
             * @default []
             */
            personality: {
                /** @description Id of the entry. */
                id: string;
                /** @description In the language of `Accept-Language`, or in the other one if it has no name in that. */
                name: string | null;
                /** @description The name of its icon; null without one. */
                icon: string | null;
            }[];
            /**
             * @description Where it can take place.
             * @default []
             */
            industry: {
                /** @description Id of the entry. */
                id: string;
                /** @description In the language of `Accept-Language`, or in the other one if it has no name in that. */
                name: string | null;
                /** @description The name of its icon; null without one. */
                icon: string | null;
            }[];
            /**
             * @description What the counterpart does.
             * @default []
             */
            role: {
                /** @description Id of the entry. */
                id: string;
                /** @description In the language of `Accept-Language`, or in the other one if it has no name in that. */
                name: string | null;
                /** @description The name of its icon; null without one. */
                icon: string | null;
            }[];
            /**
             * @description By which method it is scored.
             * @default []
             */
            methodology: {
                /** @description Id of the entry. */
                id: string;
                /** @description In the language of `Accept-Language`, or in the other one if it has no name in that. */
                name: string | null;
                /** @description The name of its icon; null without one. */
                icon: string | null;
            }[];
        };
        /** @description Aggregated figures of the team. */
        TeamAnalytics: {
            /** @description Over all active members. */
            totals: {
                /**
                 * Format: int32
                 * @description The owner included.
                 */
                active_members: number | null;
                /**
                 * Format: int32
                 * @description Trainings with an evaluation.
                 */
                scored: number | null;
                /**
                 * Format: int32
                 * @description Ended trainings.
                 */
                sessions: number | null;
                /** @description Mean total, to one decimal; null without a score. */
                avg_score: number | null;
            };
            /**
             * @description In alphabetical order.
             * @default []
             */
            dimensions: {
                /** @description What is scored. */
                dimension: ("closing" | "conversation_control" | "needs_analysis" | "objection_handling" | "value_argument") | (string & {}) | null;
                /** @description Mean, to one decimal. */
                value: number | null;
            }[];
            /**
             * @description Dimensions whose mean is below 60, the lowest first.
             * @default []
             */
            skill_gaps: (("closing" | "conversation_control" | "needs_analysis" | "objection_handling" | "value_argument") | (string & {}))[];
            /**
             * @description The last 12 ISO weeks (UTC), the oldest first, the current one last.
             * @default []
             */
            trend: {
                /**
                 * Format: int32
                 * @description Mean total; null for a week without a score.
                 */
                score: number | null;
            }[];
            /**
             * @description One entry for each active member with an ended training, the best first, without names or ids. Empty unless `member_detail_enabled` and `leaderboard_enabled` are on and at least 5 active members are involved.
             * @default []
             */
            members: {
                /**
                 * Format: int32
                 * @description Ended trainings.
                 */
                sessions: number;
                /** @description Mean total, to one decimal; null without a score. */
                avg_score: number | null;
                /** @description Mean of the last 30 days (UTC, today included) minus that of the 30 days before; null if either has no score. */
                trend_delta: number | null;
            }[];
        };
        /** @description A deal of the CRM, read-only. */
        CrmDeal: {
            /** @description Id of the deal. */
            id: string;
            /** @description The id in the CRM. */
            external_id: string;
            /** @description How it stands. */
            outcome: ("open" | "won" | "lost") | (string & {});
            /** @description What the CRM calls it. */
            title: string | null;
            /**
             * @description Decimal text, as the CRM gave it.
             * @example 12500.00
             */
            amount: string | null;
            /** @description As the CRM gave it, for instance `EUR`. */
            currency: string | null;
            /** @description As the CRM gave it. */
            close_date: string | null;
            /**
             * Format: int32
             * @description Per cent.
             */
            probability: number | null;
            /** @description Id in the CRM. */
            pipeline_id: string | null;
            /** @description Id in the CRM. */
            stage_id: string | null;
            /** @description Id of a catalog entry. */
            industry_id: string | null;
            /** @description Why it was lost, as the CRM gave it. */
            lost_reason: string | null;
            /** @description The person who owns the deal. Only while `member_detail_enabled` is on. */
            owner_user_id?: string | null;
            /**
             * Format: date-time
             * @description In the CRM.
             */
            last_activity_at: string | null;
            /**
             * Format: date-time
             * @description When it was last read from the CRM.
             */
            synced_at: string | null;
        };
        /** @description A page of a list. */
        CrmDealPage: {
            /** @description The entries of the page. */
            data: components["schemas"]["CrmDeal"][];
            /** @description Pass it as `cursor` for the page that follows; null on the last page. A page before the last one can hold fewer entries than `limit`. */
            next_cursor: string | null;
        };
        /** @description An objection that a customer raised. */
        CrmObjection: {
            /** @description Id of the objection. */
            id: string;
            /** @description The deal in which it was raised. */
            deal_id: string;
            /** @description What it is about. */
            category: ("budget" | "price" | "competitor" | "timing" | "authority" | "product" | "trust" | "need" | "other") | (string & {});
            /** @description What was said. */
            text: string;
            /** @description Language of the text. */
            lang: ("de" | "en") | (string & {});
            /**
             * Format: date-time
             * @description When it was raised.
             */
            created_at: string | null;
        };
        /** @description A page of a list. */
        CrmObjectionPage: {
            /** @description The entries of the page. */
            data: components["schemas"]["CrmObjection"][];
            /** @description Pass it as `cursor` for the page that follows; null on the last page. A page before the last one can hold fewer entries than `limit`. */
            next_cursor: string | null;
        };
        /** @description A URL that receives the events of the team. */
        WebhookEndpoint: {
            /** @description Id of the webhook endpoint. */
            id: string;
            /** @description Where events are sent. */
            url: string;
            /** @description The event types that are delivered. */
            events: (("training.completed" | "evaluation.completed" | "assignment.created" | "assignment.completed" | "member.joined" | "member.removed" | "crm.sync.failed") | (string & {}))[];
            /** @description `active`, `disabled` (paused by hand), or `disabled_failures` (paused after three days without a successful delivery). */
            status: ("active" | "disabled" | "disabled_failures") | (string & {});
            /** @description Version of the events that are sent, year and month. */
            api_version: string;
            /** @description The team's own description; null without one. */
            description: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description When a delivery last succeeded; null if none has.
             */
            last_success_at: string | null;
            /** @description Signs the deliveries. Only in the response to the creation or a rotation, never afterwards; a repeated call returns it only to the API key that made the first one. */
            secret?: string;
            /**
             * Format: date-time
             * @description Until when deliveries are also signed with earlier secrets. Only after a rotation, while they are.
             */
            earlier_secrets_until?: string;
        };
        /** @description The webhook endpoints of the team. */
        WebhookEndpointList: {
            /** @description All of them. */
            data: components["schemas"]["WebhookEndpoint"][];
        };
        /** @description A test that is queued. */
        WebhookTest: {
            /** @description The delivery of the `ping`; its outcome is in the list of deliveries. */
            delivery_id: string;
            /** @description Always `pending`: the attempt follows within seconds. */
            status: "pending" | (string & {});
        };
        /** @description An event on its way to a webhook endpoint. */
        WebhookDelivery: {
            /** @description Id of the delivery. */
            id: string;
            /**
             * Format: int32
             * @description How many attempts have been made.
             */
            attempt: number;
            /** @description `pending` (not yet tried), `retrying` (waiting for the next attempt), `ok`, or `gave_up` after the last attempt failed. */
            status: ("pending" | "retrying" | "ok" | "gave_up") | (string & {});
            /** @description The type of the event that is delivered. */
            event_type: ("training.completed" | "evaluation.completed" | "assignment.created" | "assignment.completed" | "member.joined" | "member.removed" | "crm.sync.failed" | "ping") | (string & {}) | null;
            /**
             * Format: date-time
             * @description When the delivery was queued.
             */
            created_at: string | null;
            /**
             * Format: date-time
             * @description When the next attempt is due; null if there will be none.
             */
            next_try_at: string | null;
            /**
             * Format: int32
             * @description HTTP status of the last answer; null if there was none.
             */
            response_code: number | null;
            /** @description The first 1000 characters of the last answer. */
            response_excerpt: string | null;
            /**
             * Format: int32
             * @description How long the last attempt took, in milliseconds.
             */
            response_ms: number | null;
            /** @description Why the last attempt got no answer, for instance `target_not_public`; null if it got one. */
            error: string | null;
        };
        /** @description Deliveries of a webhook endpoint. */
        WebhookDeliveryList: {
            /** @description The newest delivery first. */
            data: components["schemas"]["WebhookDelivery"][];
        };
        /** @description A page of a list. */
        EventPage: {
            /** @description The entries of the page. */
            data: components["schemas"]["Event"][];
            /** @description Pass it as `cursor` for the page that follows; null on the last page. A page before the last one can hold fewer entries than `limit`. */
            next_cursor: string | null;
        };
        /** @description Why a request was refused, as in RFC 9457. */
        Problem: {
            /**
             * Format: uri
             * @description A stable identifier, and the page that explains the code. Match on `code`.
             */
            type: string;
            /** @description What happened, in the language of `Accept-Language` (`de` or `en`). */
            title: string;
            /**
             * Format: int32
             * @description Repeats the HTTP status.
             */
            status: number;
            /**
             * @description Stable and never localized. Treat an unknown one by its status.
             * @example bad_request
             * @example unauthorized
             * @example insufficient_scope
             * @example privacy_restricted
             * @example api_disabled
             * @example vorgabe_gesperrt
             * @example not_found
             * @example conflict
             * @example seat_limit_reached
             * @example last_admin
             * @example owner
             * @example validation_error
             * @example idempotency_mismatch
             * @example kombination_ungueltig
             * @example rate_limited
             * @example internal
             * @example unavailable
             */
            code: ("bad_request" | "unauthorized" | "insufficient_scope" | "privacy_restricted" | "api_disabled" | "vorgabe_gesperrt" | "not_found" | "conflict" | "seat_limit_reached" | "last_admin" | "owner" | "validation_error" | "idempotency_mismatch" | "kombination_ungueltig" | "rate_limited" | "internal" | "unavailable") | (string & {});
            /**
             * Format: uuid
             * @description Also in the header `X-Request-Id`. Name it when you contact support.
             */
            request_id: string;
            /** @description An English explanation for the developer. Never with 500 or 503. */
            detail?: string;
            /** @description What is wrong with the input, 20 faults at most. Always with `validation_error`. */
            errors?: {
                /**
                 * @description Where the value was, for instance `body.title` or `query.limit`.
                 * @example body.title
                 */
                path: string;
                /** @description What is wrong with it, in English. */
                message: string;
                /**
                 * @description The kind of fault, for programs.
                 * @example invalid_type
                 */
                code: string;
            }[];
            /**
             * @description There are more faults than `errors` lists. Only with `validation_error`.
             * @constant
             */
            more_errors?: true;
            /** @description The field at fault, if there is only one. With `validation_error`, and with `not_found` for an id in the body. */
            field?: string;
            /** @description The catalog dimension at fault. Only with `kombination_ungueltig`. */
            dimension?: ("situation" | "personality" | "industry" | "role" | "methodology") | (string & {});
            /** @description The id that is unknown or not visible. Only with `kombination_ungueltig`, and not always. */
            id?: string;
            /** @description The scope that the key lacks. Only with `insufficient_scope`. */
            required_scope?: ("users:read" | "users:write" | "trainings:read" | "evaluations:read" | "assignments:read" | "assignments:write" | "cases:read" | "cases:write" | "catalog:read" | "analytics:read" | "webhooks:manage") | (string & {});
            /**
             * Format: int32
             * @description Seconds to wait, as the header `Retry-After`. With `rate_limited`, and with `conflict` only while a call with the same `Idempotency-Key` is still running.
             */
            retry_after?: number;
        };
        /** @description The body of `POST /users`. */
        MemberCreate: {
            /**
             * @description Where the invitation goes.
             * @example kim@example.com
             */
            email: string;
            /**
             * @description `admin` or `member`.
             * @default member
             * @example member
             */
            role?: ("admin" | "member") | (string & {});
            /**
             * @description Language of the invitation; if left out, the team's.
             * @enum {string|null}
             */
            lang?: "de" | "en" | null;
        };
        /** @description The body of `PATCH /users/{member_id}`. */
        MemberUpdate: {
            /**
             * @description `admin` or `member`.
             * @example member
             */
            role: ("admin" | "member") | (string & {});
        };
        /** @description The body of `POST /assignments`. */
        AssignmentCreate: {
            /**
             * @description The recipient: an active or invited member.
             * @example mem_01jc4f3x
             */
            member_id: string;
            /**
             * @description 1 to 120 characters.
             * @example Practise objections
             */
            title: string;
            /**
             * @description A situation from the catalog.
             * @example sit_cold
             */
            situation_id: string;
            /**
             * @description A personality from the catalog.
             * @example per_calm
             */
            personality_id: string;
            /**
             * @description An industry from the catalog.
             * @example ind_saas
             */
            industry_id: string;
            /** @description Free text for the recipient; null clears it. */
            note?: string | null;
            /**
             * Format: date
             * @description A calendar date; null clears it.
             * @example 2026-12-01
             */
            due_date?: string | null;
        };
        /** @description The body of `PATCH /assignments/{assignment_id}`. */
        AssignmentUpdate: {
            /**
             * @description `open` or `done`.
             * @example done
             */
            status?: ("open" | "done") | (string & {});
            /** @description Free text for the recipient; null clears it. */
            note?: string | null;
            /**
             * Format: date
             * @description A calendar date; null clears it.
             * @example 2026-12-01
             */
            due_date?: string | null;
        };
        /** @description The body of `POST /cases`. */
        CaseCreate: {
            /**
             * @description The person of an active member.
             * @example usr_01jc4f40
             */
            user_id: string;
            /**
             * @description What the case is called; null clears it.
             * @example Renewal with a new buyer
             */
            title?: string | null;
            /**
             * @description The counterpart to practise with; null clears it.
             * @example per_calm
             */
            persona_id?: string | null;
            /**
             * @description Free-form. At most 64 KiB of JSON, returned as stored; null clears it.
             * @example {
             *       "budget": 12000,
             *       "stage": "renewal"
             *     }
             */
            fields?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description Free-form, for ids of the client's own. At most 64 KiB of JSON, returned as stored; null clears it.
             * @example {
             *       "crm_id": "4711"
             *     }
             */
            external_ref?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description The body of `PATCH /cases/{case_id}`. */
        CaseUpdate: {
            /**
             * @description What the case is called; null clears it.
             * @example Renewal with a new buyer
             */
            title?: string | null;
            /**
             * @description The counterpart to practise with; null clears it.
             * @example per_calm
             */
            persona_id?: string | null;
            /**
             * @description Free-form, replaced as a whole. At most 64 KiB of JSON, returned as stored; null clears it.
             * @example {
             *       "budget": 12000,
             *       "stage": "renewal"
             *     }
             */
            fields?: {
                [key: string]: unknown;
            } | (unknown[] | null);
            /**
             * @description Free-form, for ids of the client's own. At most 64 KiB of JSON, returned as stored; null clears it.
             * @example {
             *       "crm_id": "4711"
             *     }
             */
            external_ref?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description The body of `POST /webhook-endpoints`. */
        WebhookEndpointCreate: {
            /**
             * @description Where events are sent: `https`, at most 2048 characters, without user info or fragment, at public addresses only.
             * @example https://example.com/hooks/team
             */
            url: string;
            /** @description Event types to deliver, at least one of: `training.completed`, `evaluation.completed`, `assignment.created`, `assignment.completed`, `member.joined`, `member.removed`, `crm.sync.failed`. */
            events: (("training.completed" | "evaluation.completed" | "assignment.created" | "assignment.completed" | "member.joined" | "member.removed" | "crm.sync.failed") | (string & {}))[];
            /**
             * @description The team's own description; null clears it.
             * @example Learning platform
             */
            description?: string | null;
        };
        /** @description The body of `PATCH /webhook-endpoints/{endpoint_id}`. */
        WebhookEndpointUpdate: {
            /**
             * @description Where events are sent: `https`, at most 2048 characters, without user info or fragment, at public addresses only.
             * @example https://example.com/hooks/team
             */
            url?: string;
            /**
             * @description The team's own description; null clears it.
             * @example Learning platform
             */
            description?: string | null;
            /** @description Event types to deliver, at least one of: `training.completed`, `evaluation.completed`, `assignment.created`, `assignment.completed`, `member.joined`, `member.removed`, `crm.sync.failed`. */
            events?: (("training.completed" | "evaluation.completed" | "assignment.created" | "assignment.completed" | "member.joined" | "member.removed" | "crm.sync.failed") | (string & {}))[];
            /**
             * @description `active` or `disabled`.
             * @example disabled
             */
            status?: ("active" | "disabled") | (string & {});
        };
        /** @description The body of `POST /webhook-endpoints/{endpoint_id}/rotate-secret`. */
        WebhookSecretRotation: {
            /**
             * Format: int32
             * @description The grace period: for so many seconds, deliveries are also signed with the old secret. 0: every earlier secret ends at once.
             * @example 86400
             */
            grace_s: number;
        };
        /** @description Something that happened in the team. */
        Event: {
            /** @description The `Svc-Event-Id` and `webhook-id` of its deliveries. */
            id: string;
            /** @description What happened. */
            type: ("training.completed" | "evaluation.completed" | "assignment.created" | "assignment.completed" | "member.joined" | "member.removed" | "crm.sync.failed" | "ping") | (string & {});
            /**
             * Format: date-time
             * @description When it happened.
             */
            created_at: string;
            /** @description Version of the event format, year and month. */
            api_version: string;
            /** @description The team. */
            tenant_id: string;
            /** @description Depends on the type; see the event catalogue. Personal fields are present if `member_detail_enabled` is on, and was on when the event happened. */
            data: {
                [key: string]: unknown;
            };
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export interface operations {
    meGet: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "tenant_id": "team_demo",
                     *       "kind": "team",
                     *       "scopes": [
                     *         "users:read",
                     *         "trainings:read"
                     *       ],
                     *       "rate_limit_per_min": 600,
                     *       "privacy": {
                     *         "member_detail_enabled": true
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Me"];
                };
            };
        };
    };
    requestsGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `X-Request-Id` of a response.
                 * @example 01932f4c-6b1e-7c3a-9f2d-5e8a1b7c4d60
                 */
                request_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "01932f4c-6b1e-7c3a-9f2d-5e8a1b7c4d60",
                     *       "created_at": "2026-11-02T09:15:00.000Z",
                     *       "key_id": "key_demo",
                     *       "method": "POST",
                     *       "route": "/assignments",
                     *       "status": 422,
                     *       "duration_ms": 4,
                     *       "network": "203.0.113.0/24",
                     *       "error_code": "validation_error",
                     *       "errors": [
                     *         {
                     *           "path": "body.title",
                     *           "code": "too_big"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["LoggedRequest"];
                };
            };
        };
    };
    membersList: {
        parameters: {
            query?: {
                /**
                 * @description `next_cursor` of the page before, unchanged. Leave it out for the first page.
                 * @example dXNlcnN8MjAyNi0xMS0wMlQwOToxNTowMC4wMDBafG1lbV8wMWpjNA
                 */
                cursor?: string;
                /**
                 * @description How many entries a page holds at most, 1 to 200.
                 * @example 50
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "mem_01jc4f3x",
                     *           "user_id": "usr_01jc4f40",
                     *           "email": "kim@example.com",
                     *           "role": "member",
                     *           "status": "active",
                     *           "joined_at": "2026-03-02T09:15:00.000Z"
                     *         }
                     *       ],
                     *       "next_cursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["MemberPage"];
                };
            };
        };
    };
    membersCreate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "kim@example.com",
                 *       "role": "member",
                 *       "lang": "en"
                 *     }
                 */
                "application/json": components["schemas"]["MemberCreate"];
            };
        };
        responses: {
            /** @description Created. `Location` is its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "mem_01jc4f3x",
                     *       "user_id": null,
                     *       "email": "kim@example.com",
                     *       "role": "member",
                     *       "status": "invited",
                     *       "joined_at": null
                     *     }
                     */
                    "application/json": components["schemas"]["Member"];
                };
            };
        };
    };
    membersGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a member.
                 * @example mem_01jc4f3x
                 */
                member_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "mem_01jc4f3x",
                     *       "user_id": "usr_01jc4f40",
                     *       "email": "kim@example.com",
                     *       "role": "member",
                     *       "status": "active",
                     *       "joined_at": "2026-03-02T09:15:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Member"];
                };
            };
        };
    };
    membersRemove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a member.
                 * @example mem_01jc4f3x
                 */
                member_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "ok": true
                     *     }
                     */
                    "application/json": components["schemas"]["Ok"];
                };
            };
        };
    };
    membersUpdate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a member.
                 * @example mem_01jc4f3x
                 */
                member_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "role": "admin"
                 *     }
                 */
                "application/json": components["schemas"]["MemberUpdate"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "mem_01jc4f3x",
                     *       "user_id": "usr_01jc4f40",
                     *       "email": "kim@example.com",
                     *       "role": "admin",
                     *       "status": "active",
                     *       "joined_at": "2026-03-02T09:15:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Member"];
                };
            };
        };
    };
    trainingsList: {
        parameters: {
            query?: {
                /**
                 * @description `next_cursor` of the page before, unchanged. Leave it out for the first page.
                 * @example dXNlcnN8MjAyNi0xMS0wMlQwOToxNTowMC4wMDBafG1lbV8wMWpjNA
                 */
                cursor?: string;
                /**
                 * @description How many entries a page holds at most, 1 to 200.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description Only trainings of this person.
                 * @example usr_01jc4f40
                 */
                user_id?: string;
                /**
                 * @description Only trainings with this status.
                 * @example scored
                 */
                status?: ("started" | "aborted" | "completed" | "scored") | (string & {});
                /**
                 * @description Only trainings that began at or after this moment, whenever they were reported; a date-time with an offset. Encode the `+` of an offset as `%2B`.
                 * @example 2026-11-01T00:00:00Z
                 */
                since?: string;
                /**
                 * @description Only trainings made for this assignment.
                 * @example asg_01jc4f5a
                 */
                assignment_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "trn_01jc4f6b",
                     *           "user_id": "usr_01jc4f40",
                     *           "status": "scored",
                     *           "source": "app",
                     *           "assignment_id": "asg_01jc4f5a",
                     *           "created_at": "2026-11-03T08:30:00.000Z",
                     *           "finished_at": "2026-11-03T08:42:10.000Z",
                     *           "duration_s": 730,
                     *           "external_ref": {
                     *             "lms": 4711
                     *           },
                     *           "situation_id": "sit_cold",
                     *           "personality_id": "per_calm",
                     *           "industry_id": "ind_saas",
                     *           "role_id": "rol_buyer"
                     *         }
                     *       ],
                     *       "next_cursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["TrainingPage"];
                };
            };
        };
    };
    trainingsGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a training.
                 * @example trn_01jc4f6b
                 */
                training_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "trn_01jc4f6b",
                     *       "user_id": "usr_01jc4f40",
                     *       "status": "scored",
                     *       "source": "app",
                     *       "assignment_id": "asg_01jc4f5a",
                     *       "created_at": "2026-11-03T08:30:00.000Z",
                     *       "finished_at": "2026-11-03T08:42:10.000Z",
                     *       "duration_s": 730,
                     *       "external_ref": {
                     *         "lms": 4711
                     *       },
                     *       "situation_id": "sit_cold",
                     *       "personality_id": "per_calm",
                     *       "industry_id": "ind_saas",
                     *       "role_id": "rol_buyer"
                     *     }
                     */
                    "application/json": components["schemas"]["Training"];
                };
            };
        };
    };
    evaluationsList: {
        parameters: {
            query?: {
                /**
                 * @description `next_cursor` of the page before, unchanged. Leave it out for the first page.
                 * @example dXNlcnN8MjAyNi0xMS0wMlQwOToxNTowMC4wMDBafG1lbV8wMWpjNA
                 */
                cursor?: string;
                /**
                 * @description How many entries a page holds at most, 1 to 200.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description Only trainings whose evaluation was stored at or after this moment; a date-time with an offset. Encode the `+` of an offset as `%2B`.
                 * @example 2026-11-01T00:00:00Z
                 */
                updated_since?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "trn_01jc4f6b",
                     *           "user_id": "usr_01jc4f40",
                     *           "status": "scored",
                     *           "source": "app",
                     *           "assignment_id": "asg_01jc4f5a",
                     *           "created_at": "2026-11-03T08:30:00.000Z",
                     *           "finished_at": "2026-11-03T08:42:10.000Z",
                     *           "duration_s": 730,
                     *           "external_ref": {
                     *             "lms": 4711
                     *           },
                     *           "situation_id": "sit_cold",
                     *           "personality_id": "per_calm",
                     *           "industry_id": "ind_saas",
                     *           "role_id": "rol_buyer"
                     *         }
                     *       ],
                     *       "next_cursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["TrainingPage"];
                };
            };
        };
    };
    evaluationsGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a training.
                 * @example trn_01jc4f6b
                 */
                training_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "training_id": "trn_01jc4f6b",
                     *       "user_id": "usr_01jc4f40",
                     *       "score": {
                     *         "dimensions": {
                     *           "closing": 62,
                     *           "conversation_control": 71,
                     *           "needs_analysis": 80,
                     *           "objection_handling": 55,
                     *           "value_argument": 68
                     *         },
                     *         "total": 67,
                     *         "spread": 8.4
                     *       },
                     *       "tips": [
                     *         {
                     *           "issue": "The price came too early.",
                     *           "moment": "Minute 3",
                     *           "principle": "Value before price",
                     *           "rewrite": "What does that cost you today?",
                     *           "impact": "Less pressure on the price"
                     *         }
                     *       ],
                     *       "goal": "partial",
                     *       "methodology": "met_spin",
                     *       "strongest": "Open questions about the need",
                     *       "biggest_lever": "Agree on a next step"
                     *     }
                     */
                    "application/json": components["schemas"]["Evaluation"];
                };
            };
        };
    };
    assignmentsList: {
        parameters: {
            query?: {
                /**
                 * @description `next_cursor` of the page before, unchanged. Leave it out for the first page.
                 * @example dXNlcnN8MjAyNi0xMS0wMlQwOToxNTowMC4wMDBafG1lbV8wMWpjNA
                 */
                cursor?: string;
                /**
                 * @description How many entries a page holds at most, 1 to 200.
                 * @example 50
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "asg_01jc4f5a",
                     *           "status": "open",
                     *           "title": "Practise objections",
                     *           "situation_id": "sit_cold",
                     *           "personality_id": "per_calm",
                     *           "industry_id": "ind_saas",
                     *           "member_user_id": "usr_01jc4f40",
                     *           "member_email": "kim@example.com",
                     *           "note": "Before the review, please.",
                     *           "due_date": "2026-12-01",
                     *           "focus_dimension": null,
                     *           "completed_training_id": null,
                     *           "created_at": "2026-11-02T09:15:00.000Z"
                     *         }
                     *       ],
                     *       "next_cursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["AssignmentPage"];
                };
            };
        };
    };
    assignmentsCreate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "member_id": "mem_01jc4f3x",
                 *       "title": "Practise objections",
                 *       "situation_id": "sit_cold",
                 *       "personality_id": "per_calm",
                 *       "industry_id": "ind_saas",
                 *       "note": "Before the review, please.",
                 *       "due_date": "2026-12-01"
                 *     }
                 */
                "application/json": components["schemas"]["AssignmentCreate"];
            };
        };
        responses: {
            /** @description Created. `Location` is its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "asg_01jc4f5a",
                     *       "status": "open",
                     *       "title": "Practise objections",
                     *       "situation_id": "sit_cold",
                     *       "personality_id": "per_calm",
                     *       "industry_id": "ind_saas",
                     *       "member_user_id": "usr_01jc4f40",
                     *       "member_email": "kim@example.com",
                     *       "note": "Before the review, please.",
                     *       "due_date": "2026-12-01",
                     *       "focus_dimension": null,
                     *       "completed_training_id": null,
                     *       "created_at": "2026-11-02T09:15:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Assignment"];
                };
            };
        };
    };
    assignmentsGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of an assignment.
                 * @example asg_01jc4f5a
                 */
                assignment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "asg_01jc4f5a",
                     *       "status": "open",
                     *       "title": "Practise objections",
                     *       "situation_id": "sit_cold",
                     *       "personality_id": "per_calm",
                     *       "industry_id": "ind_saas",
                     *       "member_user_id": "usr_01jc4f40",
                     *       "member_email": "kim@example.com",
                     *       "note": "Before the review, please.",
                     *       "due_date": "2026-12-01",
                     *       "focus_dimension": null,
                     *       "completed_training_id": null,
                     *       "created_at": "2026-11-02T09:15:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Assignment"];
                };
            };
        };
    };
    assignmentsRemove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of an assignment.
                 * @example asg_01jc4f5a
                 */
                assignment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "ok": true
                     *     }
                     */
                    "application/json": components["schemas"]["Ok"];
                };
            };
        };
    };
    assignmentsUpdate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of an assignment.
                 * @example asg_01jc4f5a
                 */
                assignment_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "status": "done"
                 *     }
                 */
                "application/json": components["schemas"]["AssignmentUpdate"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "asg_01jc4f5a",
                     *       "status": "done",
                     *       "title": "Practise objections",
                     *       "situation_id": "sit_cold",
                     *       "personality_id": "per_calm",
                     *       "industry_id": "ind_saas",
                     *       "member_user_id": "usr_01jc4f40",
                     *       "member_email": "kim@example.com",
                     *       "note": "Before the review, please.",
                     *       "due_date": "2026-12-01",
                     *       "focus_dimension": null,
                     *       "completed_training_id": null,
                     *       "created_at": "2026-11-02T09:15:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Assignment"];
                };
            };
        };
    };
    casesList: {
        parameters: {
            query?: {
                /**
                 * @description `next_cursor` of the page before, unchanged. Leave it out for the first page.
                 * @example dXNlcnN8MjAyNi0xMS0wMlQwOToxNTowMC4wMDBafG1lbV8wMWpjNA
                 */
                cursor?: string;
                /**
                 * @description How many entries a page holds at most, 1 to 200.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description Only cases of this person; an unknown one gives an empty page.
                 * @example usr_01jc4f40
                 */
                user_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "cas_01jc4f7b",
                     *           "user_id": "usr_01jc4f40",
                     *           "title": "Renewal with a new buyer",
                     *           "persona_id": "per_calm",
                     *           "fields": {
                     *             "budget": 12000,
                     *             "stage": "renewal"
                     *           },
                     *           "external_ref": {
                     *             "crm_id": "4711"
                     *           },
                     *           "created_at": "2026-11-02T09:15:00.000Z"
                     *         }
                     *       ],
                     *       "next_cursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["CasePage"];
                };
            };
        };
    };
    casesCreate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_id": "usr_01jc4f40",
                 *       "title": "Renewal with a new buyer",
                 *       "persona_id": "per_calm",
                 *       "fields": {
                 *         "budget": 12000,
                 *         "stage": "renewal"
                 *       },
                 *       "external_ref": {
                 *         "crm_id": "4711"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["CaseCreate"];
            };
        };
        responses: {
            /** @description Created. `Location` is its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "cas_01jc4f7b",
                     *       "user_id": "usr_01jc4f40",
                     *       "title": "Renewal with a new buyer",
                     *       "persona_id": "per_calm",
                     *       "fields": {
                     *         "budget": 12000,
                     *         "stage": "renewal"
                     *       },
                     *       "external_ref": {
                     *         "crm_id": "4711"
                     *       },
                     *       "created_at": "2026-11-02T09:15:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Case"];
                };
            };
        };
    };
    casesGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a case.
                 * @example cas_01jc4f7b
                 */
                case_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "cas_01jc4f7b",
                     *       "user_id": "usr_01jc4f40",
                     *       "title": "Renewal with a new buyer",
                     *       "persona_id": "per_calm",
                     *       "fields": {
                     *         "budget": 12000,
                     *         "stage": "renewal"
                     *       },
                     *       "external_ref": {
                     *         "crm_id": "4711"
                     *       },
                     *       "created_at": "2026-11-02T09:15:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Case"];
                };
            };
        };
    };
    casesRemove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a case.
                 * @example cas_01jc4f7b
                 */
                case_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "ok": true
                     *     }
                     */
                    "application/json": components["schemas"]["Ok"];
                };
            };
        };
    };
    casesUpdate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a case.
                 * @example cas_01jc4f7b
                 */
                case_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "title": "Renewal, second round",
                 *       "fields": null
                 *     }
                 */
                "application/json": components["schemas"]["CaseUpdate"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "cas_01jc4f7b",
                     *       "user_id": "usr_01jc4f40",
                     *       "title": "Renewal, second round",
                     *       "persona_id": "per_calm",
                     *       "fields": null,
                     *       "external_ref": {
                     *         "crm_id": "4711"
                     *       },
                     *       "created_at": "2026-11-02T09:15:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Case"];
                };
            };
        };
    };
    catalogGet: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "situation": [
                     *         {
                     *           "id": "sit_cold",
                     *           "name": "Cold call",
                     *           "icon": "phone"
                     *         }
                     *       ],
                     *       "personality": [
                     *         {
                     *           "id": "per_calm",
                     *           "name": "Calm",
                     *           "icon": null
                     *         }
                     *       ],
                     *       "industry": [
                     *         {
                     *           "id": "ind_saas",
                     *           "name": "SaaS",
                     *           "icon": null
                     *         }
                     *       ],
                     *       "role": [
                     *         {
                     *           "id": "rol_buyer",
                     *           "name": "Buyer",
                     *           "icon": null
                     *         }
                     *       ],
                     *       "methodology": [
                     *         {
                     *           "id": "met_spin",
                     *           "name": "SPIN",
                     *           "icon": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Catalog"];
                };
            };
        };
    };
    analyticsTeam: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "totals": {
                     *         "active_members": 6,
                     *         "scored": 41,
                     *         "sessions": 44,
                     *         "avg_score": 63.4
                     *       },
                     *       "dimensions": [
                     *         {
                     *           "dimension": "closing",
                     *           "value": 57.9
                     *         },
                     *         {
                     *           "dimension": "conversation_control",
                     *           "value": 66.2
                     *         },
                     *         {
                     *           "dimension": "needs_analysis",
                     *           "value": 70.1
                     *         },
                     *         {
                     *           "dimension": "objection_handling",
                     *           "value": 55.3
                     *         },
                     *         {
                     *           "dimension": "value_argument",
                     *           "value": 67.5
                     *         }
                     *       ],
                     *       "skill_gaps": [
                     *         "objection_handling",
                     *         "closing"
                     *       ],
                     *       "trend": [
                     *         {
                     *           "score": 58
                     *         },
                     *         {
                     *           "score": 57
                     *         },
                     *         {
                     *           "score": null
                     *         },
                     *         {
                     *           "score": 59
                     *         },
                     *         {
                     *           "score": 60
                     *         },
                     *         {
                     *           "score": 61
                     *         },
                     *         {
                     *           "score": 60
                     *         },
                     *         {
                     *           "score": 63
                     *         },
                     *         {
                     *           "score": 64
                     *         },
                     *         {
                     *           "score": 64
                     *         },
                     *         {
                     *           "score": 66
                     *         },
                     *         {
                     *           "score": 67
                     *         }
                     *       ],
                     *       "members": [
                     *         {
                     *           "sessions": 12,
                     *           "avg_score": 71.3,
                     *           "trend_delta": 4.2
                     *         },
                     *         {
                     *           "sessions": 10,
                     *           "avg_score": 66,
                     *           "trend_delta": 2.1
                     *         },
                     *         {
                     *           "sessions": 11,
                     *           "avg_score": 61.8,
                     *           "trend_delta": -1.4
                     *         },
                     *         {
                     *           "sessions": 8,
                     *           "avg_score": 57.5,
                     *           "trend_delta": 6
                     *         },
                     *         {
                     *           "sessions": 3,
                     *           "avg_score": null,
                     *           "trend_delta": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["TeamAnalytics"];
                };
            };
        };
    };
    crmListDeals: {
        parameters: {
            query?: {
                /**
                 * @description `next_cursor` of the page before, unchanged. Leave it out for the first page.
                 * @example dXNlcnN8MjAyNi0xMS0wMlQwOToxNTowMC4wMDBafG1lbV8wMWpjNA
                 */
                cursor?: string;
                /**
                 * @description How many entries a page holds at most, 1 to 200.
                 * @example 50
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "deal_01jc4f7c",
                     *           "external_id": "9182736455",
                     *           "outcome": "open",
                     *           "title": "Northfield Ltd: annual licence",
                     *           "amount": "12500.00",
                     *           "currency": "EUR",
                     *           "close_date": "2026-12-15",
                     *           "probability": 60,
                     *           "pipeline_id": "default",
                     *           "stage_id": "proposal",
                     *           "industry_id": "ind_saas",
                     *           "lost_reason": null,
                     *           "owner_user_id": "usr_01jc4f40",
                     *           "last_activity_at": "2026-11-02T14:05:00.000Z",
                     *           "synced_at": "2026-11-03T02:00:00.000Z"
                     *         }
                     *       ],
                     *       "next_cursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["CrmDealPage"];
                };
            };
        };
    };
    crmListObjections: {
        parameters: {
            query?: {
                /**
                 * @description `next_cursor` of the page before, unchanged. Leave it out for the first page.
                 * @example dXNlcnN8MjAyNi0xMS0wMlQwOToxNTowMC4wMDBafG1lbV8wMWpjNA
                 */
                cursor?: string;
                /**
                 * @description How many entries a page holds at most, 1 to 200.
                 * @example 50
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "obj_01jc4f8d",
                     *           "deal_id": "deal_01jc4f7c",
                     *           "category": "price",
                     *           "text": "That is too expensive.",
                     *           "lang": "en",
                     *           "created_at": "2026-11-03T02:00:00.000Z"
                     *         }
                     *       ],
                     *       "next_cursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["CrmObjectionPage"];
                };
            };
        };
    };
    webhooksListEndpoints: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "whe_01jc4f9d",
                     *           "url": "https://example.com/hooks/team",
                     *           "events": [
                     *             "assignment.created",
                     *             "evaluation.completed"
                     *           ],
                     *           "status": "active",
                     *           "api_version": "2026-11",
                     *           "description": "Learning platform",
                     *           "created_at": "2026-11-02T09:15:00.000Z",
                     *           "last_success_at": "2026-11-02T10:00:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookEndpointList"];
                };
            };
        };
    };
    webhooksCreateEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://example.com/hooks/team",
                 *       "events": [
                 *         "assignment.created",
                 *         "evaluation.completed"
                 *       ],
                 *       "description": "Learning platform"
                 *     }
                 */
                "application/json": components["schemas"]["WebhookEndpointCreate"];
            };
        };
        responses: {
            /** @description Created. `Location` is its path. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "whe_01jc4f9d",
                     *       "url": "https://example.com/hooks/team",
                     *       "events": [
                     *         "assignment.created",
                     *         "evaluation.completed"
                     *       ],
                     *       "status": "active",
                     *       "api_version": "2026-11",
                     *       "description": "Learning platform",
                     *       "created_at": "2026-11-02T09:15:00.000Z",
                     *       "last_success_at": null,
                     *       "secret": "whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxlLCBvZiAzMyBieXRlcyEh"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
        };
    };
    webhooksRemoveEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a webhook endpoint.
                 * @example whe_01jc4f9d
                 */
                endpoint_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "ok": true
                     *     }
                     */
                    "application/json": components["schemas"]["Ok"];
                };
            };
        };
    };
    webhooksUpdateEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a webhook endpoint.
                 * @example whe_01jc4f9d
                 */
                endpoint_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "status": "disabled"
                 *     }
                 */
                "application/json": components["schemas"]["WebhookEndpointUpdate"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "whe_01jc4f9d",
                     *       "url": "https://example.com/hooks/team",
                     *       "events": [
                     *         "assignment.created",
                     *         "evaluation.completed"
                     *       ],
                     *       "status": "disabled",
                     *       "api_version": "2026-11",
                     *       "description": "Learning platform",
                     *       "created_at": "2026-11-02T09:15:00.000Z",
                     *       "last_success_at": "2026-11-02T10:00:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
        };
    };
    webhooksRotateSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a webhook endpoint.
                 * @example whe_01jc4f9d
                 */
                endpoint_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "grace_s": 86400
                 *     }
                 */
                "application/json": components["schemas"]["WebhookSecretRotation"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "whe_01jc4f9d",
                     *       "url": "https://example.com/hooks/team",
                     *       "events": [
                     *         "assignment.created",
                     *         "evaluation.completed"
                     *       ],
                     *       "status": "active",
                     *       "api_version": "2026-11",
                     *       "description": "Learning platform",
                     *       "created_at": "2026-11-02T09:15:00.000Z",
                     *       "last_success_at": "2026-11-02T10:00:00.000Z",
                     *       "secret": "whsec_YSBuZXcgc2VjcmV0IG9mIHRoZSBleGFtcGxlLCAzMyBi",
                     *       "earlier_secrets_until": "2026-11-03T10:05:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
        };
    };
    webhooksTestEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a webhook endpoint.
                 * @example whe_01jc4f9d
                 */
                endpoint_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted. The work is queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "delivery_id": "whd_01jc4fa7",
                     *       "status": "pending"
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookTest"];
                };
            };
        };
    };
    webhooksRetryDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description Id of a delivery.
                 * @example whd_01jc4fa7
                 */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted. The work is queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "whd_01jc4fa7",
                     *       "attempt": 1,
                     *       "status": "retrying",
                     *       "event_type": "training.completed",
                     *       "created_at": "2026-11-02T09:20:00.000Z",
                     *       "next_try_at": "2026-11-02T09:21:00.000Z",
                     *       "response_code": 500,
                     *       "response_excerpt": "Internal Server Error",
                     *       "response_ms": 48,
                     *       "error": null
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
        };
    };
    webhooksListDeliveries: {
        parameters: {
            query?: {
                /**
                 * @description How many entries a page holds at most, 1 to 200.
                 * @example 50
                 */
                limit?: number;
            };
            header?: never;
            path: {
                /**
                 * @description Id of a webhook endpoint.
                 * @example whe_01jc4f9d
                 */
                endpoint_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "whd_01jc4fa7",
                     *           "attempt": 1,
                     *           "status": "retrying",
                     *           "event_type": "training.completed",
                     *           "created_at": "2026-11-02T09:20:00.000Z",
                     *           "next_try_at": "2026-11-02T09:21:00.000Z",
                     *           "response_code": 500,
                     *           "response_excerpt": "Internal Server Error",
                     *           "response_ms": 48,
                     *           "error": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["WebhookDeliveryList"];
                };
            };
        };
    };
    eventsList: {
        parameters: {
            query?: {
                /**
                 * @description `next_cursor` of the page before, unchanged. Leave it out for the first page.
                 * @example dXNlcnN8MjAyNi0xMS0wMlQwOToxNTowMC4wMDBafG1lbV8wMWpjNA
                 */
                cursor?: string;
                /**
                 * @description How many entries a page holds at most, 1 to 200.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description Only events of this type, one of: `training.completed`, `evaluation.completed`, `assignment.created`, `assignment.completed`, `member.joined`, `member.removed`, `crm.sync.failed`, `ping`.
                 * @example assignment.created
                 */
                type?: ("training.completed" | "evaluation.completed" | "assignment.created" | "assignment.completed" | "member.joined" | "member.removed" | "crm.sync.failed" | "ping") | (string & {});
                /**
                 * @description Only events that happened at or after this moment; a date-time with an offset. Encode the `+` of an offset as `%2B`.
                 * @example 2026-11-01T00:00:00Z
                 */
                since?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "evt_01jc4f6k2m8q",
                     *           "type": "assignment.created",
                     *           "created_at": "2026-11-02T09:22:00.000Z",
                     *           "api_version": "2026-11",
                     *           "tenant_id": "team_demo",
                     *           "data": {
                     *             "team_id": "team_demo",
                     *             "assignment_id": "asg_01jc4f5a",
                     *             "status": "open",
                     *             "title": "Practise objections",
                     *             "member_id": "mem_01jc4f3x",
                     *             "user_id": "usr_01jc4f40",
                     *             "due_date": "2026-12-01",
                     *             "completed_training_id": null
                     *           }
                     *         }
                     *       ],
                     *       "next_cursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["EventPage"];
                };
            };
        };
    };
}

/** Method and path of each operation, by the name that the client gives it. */
export const OPERATIONS = {
  me: {
    /**
     * Show the key in use.
     * Returns the team, the scopes and the limits of the key that the request carries. Needs no scope, so use it to try a key.
     * Needs no scope.
     */
    get: ["meGet","GET","/me"],
  },
  requests: {
    /**
     * Get an earlier request.
     * What became of a request that this key made in the last seven days. It is shown a few seconds after its response. Bodies and values are never kept. This operation is an addition of this service to the specification of the API.
     * Needs no scope.
     */
    get: ["requestsGet","GET","/requests/{request_id}"],
  },
  members: {
    /**
     * List members.
     * Active and invited members, the owner included, newest first. Emails are left out while `member_detail_enabled` is off.
     * Needs the scope `users:read`.
     */
    list: ["membersList","GET","/users"],
    /**
     * Invite a member.
     * Sends an invitation by email and takes a seat. Inviting an admin needs a key created by the owner or by an active admin. A team may send 60 invitations per hour. An invitation that nobody accepts within 180 days ends.
     * Needs the scope `users:write`.
     */
    create: ["membersCreate","POST","/users"],
    /**
     * Read a member.
     * One active or invited member.
     * Needs the scope `users:read`.
     */
    get: ["membersGet","GET","/users/{member_id}"],
    /**
     * Change a member's role.
     * Granting or revoking the role `admin` needs a key created by the owner or by an active admin. Setting the role that the member already has changes nothing.
     * Needs the scope `users:write`.
     */
    update: ["membersUpdate","PATCH","/users/{member_id}"],
    /**
     * Remove a member.
     * Ends the membership and revokes its open assignments at once. Trainings and team cases stay stored.
     * Needs the scope `users:write`.
     */
    remove: ["membersRemove","DELETE","/users/{member_id}"],
  },
  trainings: {
    /**
     * List trainings.
     * Sessions of the active members, newest first, without transcripts. Filters can be combined. A filter that matches nothing gives an empty page.
     * Needs the scope `trainings:read`.
     */
    list: ["trainingsList","GET","/trainings"],
    /**
     * Read a training.
     * One session of an active member, without its transcript. Its score is in the evaluation, which has a path of its own.
     * Needs the scope `trainings:read`.
     */
    get: ["trainingsGet","GET","/trainings/{training_id}"],
  },
  evaluations: {
    /**
     * List scored trainings.
     * Sessions of the active members that have an evaluation, in the shape of `GET /trainings`. The session whose evaluation was stored last comes first, however late it arrived. With `updated_since`, a client reads what was stored since it last asked. Let the ranges overlap: ask from a minute before the last poll, by the `Date` header of its response. An evaluation can be seen a moment after the time it is stored under.
     * Needs the scope `evaluations:read`.
     */
    list: ["evaluationsList","GET","/evaluations"],
    /**
     * Read an evaluation.
     * Score, dimensions and tips of one session of an active member. 404 until the session is scored.
     * Needs the scope `evaluations:read`.
     */
    get: ["evaluationsGet","GET","/trainings/{training_id}/evaluation"],
  },
  assignments: {
    /**
     * List assignments.
     * Assignments of any status, newest first.
     * Needs the scope `assignments:read`.
     */
    list: ["assignmentsList","GET","/assignments"],
    /**
     * Create an assignment.
     * Assigns a training to an active or invited member. The combination is checked against the catalog, its rules, and the recipient's effective policy, in this order.
     * Needs the scope `assignments:write`.
     */
    create: ["assignmentsCreate","POST","/assignments"],
    /**
     * Read an assignment.
     * One assignment of any status.
     * Needs the scope `assignments:read`.
     */
    get: ["assignmentsGet","GET","/assignments/{assignment_id}"],
    /**
     * Change an assignment.
     * Sets the fields that the body names; null clears `note` and `due_date`. Setting `done` for the first time raises `assignment.completed`.
     * Needs the scope `assignments:write`.
     */
    update: ["assignmentsUpdate","PATCH","/assignments/{assignment_id}"],
    /**
     * Delete an assignment.
     * Removes the assignment. Trainings made for it stay, without the reference.
     * Needs the scope `assignments:write`.
     */
    remove: ["assignmentsRemove","DELETE","/assignments/{assignment_id}"],
  },
  cases: {
    /**
     * List cases.
     * The team's cases, newest first. A member's private case is never among them.
     * Needs the scope `cases:read`.
     */
    list: ["casesList","GET","/cases"],
    /**
     * Create a case.
     * Creates a team case for an active member. `not_found` if `user_id` is not an active member.
     * Needs the scope `cases:write`.
     */
    create: ["casesCreate","POST","/cases"],
    /**
     * Read a case.
     * One team case. A private case of a member is not found.
     * Needs the scope `cases:read`.
     */
    get: ["casesGet","GET","/cases/{case_id}"],
    /**
     * Change a case.
     * Sets the fields that the body names; null clears them. `fields` and `external_ref` are replaced as a whole.
     * Needs the scope `cases:write`.
     */
    update: ["casesUpdate","PATCH","/cases/{case_id}"],
    /**
     * Delete a case.
     * Removes the case for good.
     * Needs the scope `cases:write`.
     */
    remove: ["casesRemove","DELETE","/cases/{case_id}"],
  },
  catalog: {
    /**
     * Read the catalog.
     * The situations, personalities, industries, roles and methodologies that the team may use: released to it or its own, and not blocked by the team's policy. Names are German or English, as `Accept-Language` asks; within a kind they are in alphabetical order.
     * Needs the scope `catalog:read`.
     */
    get: ["catalogGet","GET","/catalog"],
  },
  analytics: {
    /**
     * Read the team analytics.
     * Totals, dimensions, skill gaps and trend over all trainings of the active members. `members` shows how single members do, without naming them, and only if the team's privacy switches and its size allow it.
     * Needs the scope `analytics:read`.
     */
    team: ["analyticsTeam","GET","/analytics/team"],
  },
  crm: {
    /**
     * List CRM deals.
     * Deals of the team's active CRM connections, newest first by their first synchronization; empty without an active connection. Connections are set up in the app.
     * Needs the scope `cases:read`.
     */
    listDeals: ["crmListDeals","GET","/crm/deals"],
    /**
     * List CRM objections.
     * The team's synchronized catalog of objections: what was raised in deals of active CRM connections, newest first.
     * Needs the scope `cases:read`.
     */
    listObjections: ["crmListObjections","GET","/crm/objections"],
  },
  webhooks: {
    /**
     * List webhook endpoints.
     * All endpoints of the team, newest first, without their secrets.
     * Needs the scope `webhooks:manage`.
     */
    listEndpoints: ["webhooksListEndpoints","GET","/webhook-endpoints"],
    /**
     * Create a webhook endpoint.
     * The response holds the signing `secret`, which is never shown again. The URL must be https, and its name must resolve to public addresses only. A team may have 50 endpoints.
     * Needs the scope `webhooks:manage`.
     */
    createEndpoint: ["webhooksCreateEndpoint","POST","/webhook-endpoints"],
    /**
     * Change a webhook endpoint.
     * Sets the fields that the body names; null clears `description`. `disabled` holds deliveries back until the endpoint is `active` again; `active` also ends a pause after failures.
     * Needs the scope `webhooks:manage`.
     */
    updateEndpoint: ["webhooksUpdateEndpoint","PATCH","/webhook-endpoints/{endpoint_id}"],
    /**
     * Delete a webhook endpoint.
     * Removes the endpoint and its deliveries. Waiting ones are not sent any more.
     * Needs the scope `webhooks:manage`.
     */
    removeEndpoint: ["webhooksRemoveEndpoint","DELETE","/webhook-endpoints/{endpoint_id}"],
    /**
     * Rotate the secret of a webhook endpoint.
     * The response holds the new signing `secret`, which is never shown again. For `grace_s` seconds, deliveries are also signed with the old one.
     * Needs the scope `webhooks:manage`.
     */
    rotateSecret: ["webhooksRotateSecret","POST","/webhook-endpoints/{endpoint_id}/rotate-secret"],
    /**
     * Send a test event.
     * Queues one `ping`, which is sent within seconds. It is sent to a paused endpoint, too, and does not change the status of the endpoint. Read the outcome from the list of deliveries.
     * Needs the scope `webhooks:manage`.
     */
    testEndpoint: ["webhooksTestEndpoint","POST","/webhook-endpoints/{endpoint_id}/test"],
    /**
     * Retry a delivery now.
     * Makes one more attempt at once, for a delivery that is `retrying` or `gave_up`. If it fails, a `retrying` delivery keeps its schedule. The response shows the delivery as it was before the attempt.
     * Needs the scope `webhooks:manage`.
     */
    retryDelivery: ["webhooksRetryDelivery","POST","/webhook-deliveries/{delivery_id}/retry"],
    /**
     * List deliveries.
     * The last deliveries to an endpoint, newest first. Deliveries are kept for 30 days after their last attempt.
     * Needs the scope `webhooks:manage`.
     */
    listDeliveries: ["webhooksListDeliveries","GET","/webhook-endpoints/{endpoint_id}/deliveries"],
  },
  events: {
    /**
     * List events.
     * The events of the team, newest first, whether or not an endpoint subscribes to them. They are kept for 30 days. A personal field is shown only if the privacy switches allowed it when the event happened, and allow it now. To follow the list, ask with `since` a minute before the newest event that you have, and skip the ids that you know. This operation is an addition of this service to the specification of the API.
     * Needs the scope `webhooks:manage`.
     */
    list: ["eventsList","GET","/events"],
  },
} as const;
