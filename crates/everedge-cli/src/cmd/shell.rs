//! `everedge completions`, `everedge manual`: what a shell and `man` know of the program, from its own definition.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::output::Output;

/// Print what a shell needs to complete the words of everedge.
///
/// For bash: everedge completions bash > ~/.local/share/bash-completion/completions/everedge
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// Print the manual, or the page of a command, for `man`.
///
/// To read it: everedge manual | man -l -. To keep it: everedge manual > ~/.local/share/man/man1/everedge.1
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ManualArgs {
    /// A command; all of them, if none is named.
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

pub(crate) fn completions(
    args: &CompletionsArgs,
    mut program: Command,
    output: Output,
) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut program, "everedge", &mut text);
    print(&text, output)
}

pub(crate) fn manual(
    args: &ManualArgs,
    mut program: Command,
    output: Output,
) -> anyhow::Result<ExitCode> {
    // Options that all commands have come to their pages only when it is built.
    program.build();
    let mut text = Vec::new();
    let commands = program.get_subcommands().filter(|command| command.get_name() != "help");
    match &args.command {
        Some(name) => {
            let found = commands.into_iter().find(|command| command.get_name() == name);
            let command = found.with_context(|| {
                format!("there is no command `{name}`; `everedge --help` lists them")
            })?;
            Man::new(command.clone()).render(&mut text)?;
        }
        None => {
            let pages: Vec<Command> = commands.cloned().collect();
            Man::new(program.clone()).render(&mut text)?;
            for command in pages {
                writeln!(text, ".SH \"EVEREDGE {}\"", command.get_name().to_uppercase())?;
                let man = Man::new(command);
                man.render_description_section(&mut text)?;
                man.render_synopsis_section(&mut text)?;
                man.render_options_section(&mut text)?;
            }
        }
    }
    print(&text, output)
}

fn print(text: &[u8], output: Output) -> anyhow::Result<ExitCode> {
    super::lines(output, |out| out.write_all(text))?;
    Ok(ExitCode::SUCCESS)
}
