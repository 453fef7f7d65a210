import csv
import os
from team_customer_client import Client

url = os.environ.get("API_URL", "https://api.example.com/api/public/v1")
FIELDS = ["id", "user_id", "created_at", "duration_s", "situation_id", "total"]

with Client(os.environ["API_KEY"], url) as client, open("results.csv", "w", newline="") as file:
    rows = csv.DictWriter(file, FIELDS, extrasaction="ignore")
    rows.writeheader()
    for training in client.trainings.list(status="scored", include="evaluation", limit=200):
        evaluation = training.get("evaluation")
        total = evaluation["score"]["total"] if evaluation else None
        rows.writerow({**training, "total": total})
