"""A real mark (demand, two changes, the first of them the tempting one) and the log behind it."""

from copy import deepcopy

from labs.catalogue import labs
from labs.debrief import debrief
from labs.log import Entry

SPEC = labs()["preemption-storm"]
MARK = {
    "graded": True,
    "total": 65.6,
    "passed": False,
    "reason": "65.6 of 100; a pass needs 70.",
    "parts": [
        {
            "name": "scope",
            "earned": 8.0,
            "weight": 10,
            "reason": "There is a fault, and you said so. 1 objective of the 2 that you named "
            "or that were missed are both; missed: gap and ttft.",
            "details": {"named": ["ttft"], "hurt": ["gap", "ttft"], "jaccard": 0.5},
        },
        {
            "name": "localisation",
            "earned": 13.3,
            "weight": 20,
            "reason": "You named kv_pool and router; the fault is in kv_pool. Matched one to "
            "one by distance, that is 0.67 of 1.",
            "details": {
                "named": ["kv_pool", "router"],
                "truth": ["kv_pool"],
                "L": 0.6667,
                "looked": 1.0,
            },
        },
        {
            "name": "mechanism",
            "earned": 25.0,
            "weight": 25,
            "reason": "The statement you chose is what happens here. You gave 1.2; tokens "
            "wanted over tokens held is 1.2, and yours earns 1.00 of 1.",
            "details": {"credit": 1.0, "parameter": 1.0, "answer": 1.2, "truth": 1.199},
        },
        {
            "name": "evidence",
            "earned": 6.0,
            "weight": 15,
            "reason": "Your 2 citations cover 1 of 3 links; 0 prove nothing. 1 is true but "
            "beside the point. None of them reaches the cause.",
            "details": {
                "covered": ["link 3"],
                "links": 3,
                "void": 0,
                "off_chain": 1,
                "cause_proved": False,
                "citations": [
                    {
                        "reading": 1,
                        "signal": "kv_usage",
                        "role": "shows",
                        "rival": None,
                        "verdict": "off-chain",
                        "link": None,
                        "strength": 0.02439,
                    },
                    {
                        "reading": 2,
                        "signal": "unaccounted_share",
                        "role": "rules out",
                        "rival": "leak",
                        "verdict": "link",
                        "link": "link 3",
                        "strength": 13.86,
                    },
                ],
            },
        },
        {
            "name": "mitigation",
            "earned": 4.3,
            "weight": 20,
            "reason": "After your changes gap and ttft still miss their targets; 43% of the "
            "harm is undone.",
            "details": {
                "changed": True,
                "cause_gone": True,
                "missed": ["gap", "ttft"],
                "hurt": ["gap", "ttft"],
                "rho": {"gap": 0.7934, "ttft": 0.06278},
                "rho_mean": 0.4281,
                "C": 1.0,
                "Z": 1.0,
                "idle": 0,
                "collateral": {"requests lost": 0.0},
                "met": {"gap": 0.7896, "ttft": 0.0},
            },
        },
        {
            "name": "economy",
            "earned": 9.0,
            "weight": 10,
            "reason": "Your best rate was 1.71 bits a minute; the best available gives 1.94. "
            "Your readings could tell 80% of what sets this world apart. You spent 1:15 of a "
            "budget of 4:00 on readings and waits before you committed or changed anything.",
            "details": {},
        },
    ],
    "debrief": {
        "hypothesis": "demand",
        "seed": 2000009,
        "users_hurt": {"you": 720, "reference": 638, "untouched": 720},
        "alarm": {
            "you": [
                [-1800, 0.4191],
                [-1200, 0.3552],
                [-600, 107.2],
                [0, 308.7],
                [600, 610.5],
                [1200, 604.5],
                [1800, 478.2],
                [2400, 341.4],
            ],
            "reference": [
                [-1800, 0.4191],
                [-1200, 0.3552],
                [-600, 107.2],
                [0, 308.7],
                [600, 385.3],
                [1200, 185.6],
                [1800, 0.313],
                [2400, 0.4471],
            ],
            "untouched": [
                [-1800, 0.4191],
                [-1200, 0.3552],
                [-600, 107.2],
                [0, 308.7],
                [600, 550.0],
                [1200, 758.6],
                [1800, 898.4],
                [2400, 1036.0],
            ],
        },
        "value": [
            {
                "instrument": "gaps",
                "title": "Longest gap per stream",
                "bits": 1.456,
                "seconds": 30.0,
                "value": 1.941,
                "yours": False,
            },
            {
                "instrument": "ttft_histogram",
                "title": "TTFT histogram of the engine",
                "bits": 1.422,
                "seconds": 30.0,
                "value": 1.896,
                "yours": False,
            },
            {
                "instrument": "counters",
                "title": "Engine gauges",
                "bits": 1.284,
                "seconds": 15.0,
                "value": 1.713,
                "yours": True,
            },
            {
                "instrument": "waiting",
                "title": "Queue age",
                "bits": 1.307,
                "seconds": 20.0,
                "value": 1.568,
                "yours": False,
            },
        ],
        "posterior": {
            "metastable": 0.2863,
            "demand": 0.7017,
            "router": 0.004,
            "long_prompts": 0.004,
            "leak": 0.004001,
        },
        "waste_s": 15.0,
        "prediction": {
            "question": "Nobody touches anything. What is p95 TTFT, over the "
            "five minutes before, ten minutes after the page?",
            "unit": "s",
            "truth": 550.0,
            "value": 60.0,
            "confidence": 70,
            "why": "x",
            "error": -3.196,
            "hit": False,
            "brier": 0.49,
        },
        "reference_steps": [
            {"kind": "reading", "at_s": 30, "cost_s": 30, "title": "Longest gap per stream"},
            {"kind": "reading", "at_s": 75, "cost_s": 45, "title": "Offered load, twelve minutes"},
            {"kind": "reading", "at_s": 105, "cost_s": 30, "title": "KV ledger"},
            {
                "kind": "change",
                "at_s": 185,
                "cost_s": 80,
                "title": "Restarted with --kv-cache-dtype fp8",
            },
            {"kind": "wait", "at_s": 785, "cost_s": 600, "title": "Waited 10:00"},
            {"kind": "wait", "at_s": 905, "cost_s": 120, "title": "Waited 2:00"},
            {"kind": "reading", "at_s": 920, "cost_s": 15, "title": "The panel that paged"},
            {"kind": "wait", "at_s": 1040, "cost_s": 120, "title": "Waited 2:00"},
            {
                "kind": "verification",
                "at_s": 1895,
                "cost_s": 300,
                "title": "What paged, and the promises, five minutes",
            },
        ],
        "parameter": 1.199,
    },
}


def entry(kind, /, *, at_s=0, cost_s=0, payload=None, **outcome):
    return Entry(kind, payload or {}, outcome, at_s, cost_s)


LOG = [
    entry("predict", payload={"value": 60}),
    entry("command", at_s=15, cost_s=15, kind="reading", number=1, instrument="counters", text="…"),
    entry("command", at_s=45, cost_s=30, kind="reading", number=2, instrument="ledger", text="…"),
    entry("command", at_s=45, kind="answer", number=3, text="help"),
    entry("diagnose", at_s=45, payload={"scope": "fault"}),
    entry(
        "command",
        at_s=125,
        cost_s=80,
        kind="change",
        number=4,
        text="Restarted with --max-num-seqs 28",
    ),
    entry(
        "command",
        at_s=425,
        cost_s=300,
        kind="verification",
        number=5,
        signals={"ttft_p95_s": 277.4, "promise:ttft": 0.02, "promise:gap": None},
        text="window",
    ),
    entry(
        "command",
        at_s=505,
        cost_s=80,
        kind="change",
        number=6,
        text="Restarted with --kv-cache-dtype fp8",
    ),
    entry("command", at_s=1105, cost_s=600, kind="wait", number=7, text="10:00 passed."),
    entry("command", at_s=1120, cost_s=15, kind="reading", number=8, instrument="slo", text="…"),
    entry("command", at_s=1720, cost_s=600, kind="wait", number=9, text="10:00 passed."),
]


def shown(mark=MARK, log=LOG, clock_s=1720):
    return debrief(SPEC, mark, log, clock_s=clock_s)


def changed(part, **fields):
    mark = deepcopy(MARK)
    found = next(each for each in mark["parts"] if each["name"] == part)
    found["details"] |= fields.pop("details", {})
    found |= fields
    return mark
