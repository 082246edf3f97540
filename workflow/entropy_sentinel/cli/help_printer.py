"""Print help in sections, by the panels of options and subcommands, the same on a terminal and in a pipe."""

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

from entropy_sentinel.core.option_texts import naming_command_options

Records = dict[str, list[tuple[str, str]]]
_HELP_WIDTH = 60  # of a subcommand's summary


class Command(TyperCommand):
    """A subcommand with its options in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, the options of each panel, and the options without a panel."""
        _write_sections(_group_by_panel(self.get_params(ctx), ctx), formatter)


class CommandGroup(TyperGroup):
    """The command with its subcommands in sections."""

    def invoke(self, ctx: Any) -> Any:
        """Run a subcommand, whose messages name options of the command."""
        with naming_command_options():
            return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the subcommands of each panel, and the options."""
        sections: Records = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            sentence = command.get_short_help_str(_HELP_WIDTH)
            sections.setdefault(command.rich_help_panel or "Commands", []).append((name, sentence))
        _write_sections(sections | _group_by_panel(self.get_params(ctx), ctx), formatter)


def _group_by_panel(parameters: Iterable[Any], context: Any) -> Records:
    """The help of each parameter by section: arguments, panels, other options."""
    sections: Records = {"Arguments": []}
    other_options: Records = {"Options": []}
    for parameter in parameters:
        record = parameter.get_help_record(context)
        if record is None:
            continue
        if parameter.param_type_name == "argument":
            name, text = record
            # Typer adds the type, such as <list[str]>, which is Python's word and not the reader's.
            sections["Arguments"].append((name.removesuffix(f" {parameter.display_type(context)}"), text))
        elif parameter.rich_help_panel is None:
            other_options["Options"].append(record)
        else:
            sections.setdefault(parameter.rich_help_panel, []).append(record)
    return sections | other_options


def _write_sections(sections: Records, formatter: Any) -> None:
    for title, records in sections.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)
