"""The page of supported operators, made from the rules that `check` and `lower` apply.

python -m fwgen.accel.report > docs/supported-operators.md
"""

from __future__ import annotations

from itertools import groupby

from fwgen.accel.registry import families, family


def supported_operators_page() -> str:
    """The whole page as Markdown."""
    lines = [
        "# Supported operators",
        "",
        "This page is made from the rules that `fwgen check` and `fwgen build` apply",
        "(`python -m fwgen.accel.report`). An operation that breaks a rule is refused with exit",
        "code 3 and the rule's reason; nothing is approximated.",
    ]
    for name in families():
        kind = family(name)
        lines += ["", f"## {name}", "", "Configurations: " + ", ".join(kind.configurations) + "."]
        facts = [kind.configuration_facts(config) for config in kind.configurations]
        columns = list(facts[0])
        lines += ["", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        for row in facts:
            cells = ["yes" if v is True else "no" if v is False else str(v) for v in row.values()]
            lines.append("| " + " | ".join(cells) + " |")
        for unit, rules in groupby(kind.rules(), key=lambda rule: rule.unit):
            lines += ["", f"### {unit}", ""]
            for rule in rules:
                text = " ".join(rule.text.split())
                title = rule.name.replace("_", " ")
                lines.append(f"- **{title}**: {text}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(supported_operators_page(), end="")
