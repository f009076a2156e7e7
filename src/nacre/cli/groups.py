"""How the overview of all commands is laid out: in groups, by what people want to do."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup


class GroupedCommands(TyperGroup):
    """Commands under the headings that they were registered with."""

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The command that the first words name: of two if there is one, else of one."""
        two = " ".join(args[:2])
        if len(args) > 1 and (command := self.get_command(ctx, two)) is not None:
            return two, command, args[2:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write one section for each heading, in the order of registration."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if not command.hidden:
                heading = command.rich_help_panel or "Commands"
                sections.setdefault(heading, []).append((name, command.get_short_help_str(70)))
        width = max(len(name) for rows in sections.values() for name, _ in rows)
        for heading, rows in sections.items():
            with formatter.section(heading):
                # Columns that line up over all sections.
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])
