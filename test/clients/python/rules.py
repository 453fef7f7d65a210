"""When a call is repeated, decided without a server and without waiting.

Reads pairs of a method and the responses, the last one from then on. Prints for each how many
attempts were made, the waits between them, and what came of the call.
"""

import json
import sys
from typing import Any

from team_customer_client import Request, Response
from team_customer_client._retries import RetryRules, Wait, call_steps


def play(method: str, answers: list[Any], budget_s: float) -> Any:
    request = Request(method, "https://team.example/api/public/v1/x?secret=1", {}, None, 1)
    steps = call_steps(request, RetryRules(4, budget_s, has_answered=True))
    attempts, waits, came = 0, [], None
    try:
        while True:
            step = steps.send(came)
            if isinstance(step, Wait):
                waits.append(step.seconds)
                came = None
                continue
            answer = answers[min(attempts, len(answers) - 1)]
            attempts += 1
            if answer is None:
                came = ConnectionResetError("lost")
            else:
                status, headers, body = answer
                text = body if isinstance(body, str) else json.dumps(body)
                came = Response(status, headers, text.encode())
    except StopIteration as end:
        return [attempts, waits, end.value]
    except Exception as error:
        return [attempts, waits, f"{type(error).__name__}: {error}"]


print(json.dumps([play(*given) for given in json.load(sys.stdin)]))
