use std::process::ExitCode;

fn main() -> ExitCode {
    magneton_ir::cli::main()
}
