# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_magneton_ir_global_optspecs
    string join \n h/help V/version
end

function __fish_magneton_ir_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_magneton_ir_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_magneton_ir_using_subcommand
    set -l cmd (__fish_magneton_ir_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -s V -l version -d 'Print version'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "check" -d 'Are A and B equal, where does the energy go, what is the cheapest equivalent, and why'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "explain" -d 'One region of the comparison in full: operators, types, costs, and the proof step by step'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "optimize" -d 'Cheaper equivalents of one workload that the rules can prove'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "verify-proof" -d 'Replay a proof that `check --proof` wrote, without searching for one'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "lower" -d 'Print the operator graph of a file as `.mir` text'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "run" -d 'Compute the outputs of a graph for given inputs with the reference evaluator'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "rules" -d 'The rules that proofs are made of'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "corpus" -d 'Published cases of wasted energy'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "profile" -d 'Measured energies'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "measure" -d 'Measure the operators of graphs on this machine\'s GPU, as far as the profile does not hold them yet'
complete -c magneton-ir -n "__fish_magneton_ir_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l bind -d 'Which inputs are the same, or made of others, where names do not tell: a file of lines such as `qkv.weight = concat(q.weight, k.weight, v.weight; dim=0)`' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l write-bind -d 'Write the binding that was inferred to this file, in the form that `--bind` reads' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l shape -d 'The value of a symbolic size of an ONNX model. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l config-a -d 'Set a math flag of A, such as allow_tf32=true. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l config-b -d 'Set a math flag of B' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l rules -d 'Use the rules of this file too. May be given several times' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l tier -d 'The weakest tier that a proof may use: exact, real, rounding, approx (each step has an error of its own) or approx(ERROR) (a bound on the outputs)' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l profile -d 'Take measured energies from this file in place of those that the program carries' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l launch -d 'How kernels get onto the GPU, which may wait for them' -r -f -a "graph\t'All at once: the workload is recorded as a CUDA graph'
eager\t'One by one by the host, as PyTorch runs a program'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l frozen -d 'Whether parameters stay as they are from one execution to the next, so that a cheaper form may read what was computed of them once. They never do in a graph that trains' -r -f -a "yes\t'Parameters, and buffers that the workload does not write, stay as they are'
no\t'They may change'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l seed -d 'Chooses the inputs on which a difference is looked for where the two are not proven equal' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l source -d 'Look below this folder for the Python sources of the workloads: the report names the switch that makes their calls part. Without it, in the environment that `VIRTUAL_ENV` names, and at the paths that the files record' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l format -r -f -a "human\t'Text for a terminal'
json\t'One JSON object, for scripts'
markdown\t'Text for issues and pull requests'
html\t'A page for a browser, in one file that needs no network'
sarif\t'Findings for code-scanning views, as SARIF 2.1.0'
junit\t'Findings as tests, for CI systems'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l report -d 'Write the report to this file, not to standard output' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l write-json -d 'Write the report to this file too, as `--format json` gives it' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l proof -d 'Write the proof to this file; `verify-proof` replays it' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l write-witness -d 'Write the inputs on which the two differ, and the values that differ, into this folder as `.npz` files. If that fails, standard error says so; the verdict and the exit status stay' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l fail-on -d 'What makes the exit status 1. Each includes those before it' -r -f -a "different\t'An input was found on which the outputs part'
unknown\t'The two are not proven equal'
waste\t'A proven equivalent saves more than the threshold and is not slower'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l threshold -d 'The saving from which on it counts as waste, of the side that spends it' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l waste-of -d 'The side whose waste counts; without it, both' -r -f -a "a\t''
b\t''"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l baseline -d 'A SARIF report of an earlier check: waste that it names does not count, unless it has become more' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -l no-cache -d 'Neither use nor keep what searches came to in earlier runs. It is kept in your cache folder and may be deleted'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l bind -d 'Which inputs are the same, or made of others, where names do not tell: a file of lines such as `qkv.weight = concat(q.weight, k.weight, v.weight; dim=0)`' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l write-bind -d 'Write the binding that was inferred to this file, in the form that `--bind` reads' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l shape -d 'The value of a symbolic size of an ONNX model. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l config-a -d 'Set a math flag of A, such as allow_tf32=true. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l config-b -d 'Set a math flag of B' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l rules -d 'Use the rules of this file too. May be given several times' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l tier -d 'The weakest tier that a proof may use: exact, real, rounding, approx (each step has an error of its own) or approx(ERROR) (a bound on the outputs)' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l profile -d 'Take measured energies from this file in place of those that the program carries' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l launch -d 'How kernels get onto the GPU, which may wait for them' -r -f -a "graph\t'All at once: the workload is recorded as a CUDA graph'
eager\t'One by one by the host, as PyTorch runs a program'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l frozen -d 'Whether parameters stay as they are from one execution to the next, so that a cheaper form may read what was computed of them once. They never do in a graph that trains' -r -f -a "yes\t'Parameters, and buffers that the workload does not write, stay as they are'
no\t'They may change'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l seed -d 'Chooses the inputs on which a difference is looked for where the two are not proven equal' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l source -d 'Look below this folder for the Python sources of the workloads: the report names the switch that makes their calls part. Without it, in the environment that `VIRTUAL_ENV` names, and at the paths that the files record' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l format -r -f -a "human\t'Text for a terminal'
json\t'One JSON object, for scripts'
markdown\t'Text for issues and pull requests'
html\t'A page for a browser, in one file that needs no network'
sarif\t'Findings for code-scanning views, as SARIF 2.1.0'
junit\t'Findings as tests, for CI systems'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l report -d 'Write the report to this file, not to standard output' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l write-json -d 'Write the report to this file too, as `--format json` gives it' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l no-cache -d 'Neither use nor keep what searches came to in earlier runs. It is kept in your cache folder and may be deleted'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -l full -d 'Leave nothing out: all operators with all of their types, all steps'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l rules -d 'Use the rules of this file too. May be given several times' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l tier -d 'The weakest tier that a proof may use: exact, real, rounding, approx (each step has an error of its own) or approx(ERROR) (a bound on the outputs)' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l profile -d 'Take measured energies from this file in place of those that the program carries' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l launch -d 'How kernels get onto the GPU, which may wait for them' -r -f -a "graph\t'All at once: the workload is recorded as a CUDA graph'
eager\t'One by one by the host, as PyTorch runs a program'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l frozen -d 'Whether parameters stay as they are from one execution to the next, so that a cheaper form may read what was computed of them once. They never do in a graph that trains' -r -f -a "yes\t'Parameters, and buffers that the workload does not write, stay as they are'
no\t'They may change'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l config -d 'Set a math flag of the workload, such as allow_tf32=true. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l shape -d 'The value of a symbolic size of an ONNX model. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l format -r -f -a "human\t'Text for a terminal'
json\t'One JSON object, for scripts'
markdown\t'Text for issues and pull requests'
html\t'A page for a browser, in one file that needs no network'
sarif\t'Findings for code-scanning views, as SARIF 2.1.0'
junit\t'Findings as tests, for CI systems'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l report -d 'Write the report to this file, not to standard output' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l write-json -d 'Write the report to this file too, as `--format json` gives it' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -s o -l output -d 'Write the graph with all cheaper forms in place: as PyTorch code (`.py`), as an exported program with the weights of the workload (`.pt2`), or as text of the IR (`.mir`). It is proven to be equivalent first' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l objective -d 'What is to be as little as possible: energy, time, or the product of both' -r -f -a "energy\t'Energy. Forms with slower kernels are listed and not taken, nor are those that take longer to launch than they save'
time\t'Time, whatever energy that takes'
edp\t'Energy times time, the energy–delay product'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l max-slowdown -d 'Take forms that are slower and need less energy, too, as long as the whole takes at most this much more time than the workload does now. Without it, they are listed and not taken' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l frontier -d 'Write a picture of time against energy to this file, as SVG: the workload now, its best form, and slower forms' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -l no-cache -d 'Neither use nor keep what searches came to in earlier runs. It is kept in your cache folder and may be deleted'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand optimize" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand verify-proof" -l bind -d 'Which inputs are the same, or made of others, where names do not tell: a file of lines such as `qkv.weight = concat(q.weight, k.weight, v.weight; dim=0)`' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand verify-proof" -l write-bind -d 'Write the binding that was inferred to this file, in the form that `--bind` reads' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand verify-proof" -l shape -d 'The value of a symbolic size of an ONNX model. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand verify-proof" -l config-a -d 'Set a math flag of A, such as allow_tf32=true. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand verify-proof" -l config-b -d 'Set a math flag of B' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand verify-proof" -l rules -d 'The rule files that `check` was given, in the same order' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand verify-proof" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand lower" -l shape -d 'The value of a symbolic size of an ONNX model. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand lower" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand run" -l input -d 'The elements of an input, as NumPy\'s `save` writes them. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand run" -l output -d 'The folder for one `.npy` file per output' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand run" -l shape -d 'The value of a symbolic size of an ONNX model. May be given several times' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and not __fish_seen_subcommand_from list check test new fmt help" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and not __fish_seen_subcommand_from list check test new fmt help" -f -a "list" -d 'List the rules of the library and of the given files'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and not __fish_seen_subcommand_from list check test new fmt help" -f -a "check" -d 'Try the rules of the files out on many instances; without files, those of the library'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and not __fish_seen_subcommand_from list check test new fmt help" -f -a "test" -d 'Run the `test` items of the files; without files, those of the library'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and not __fish_seen_subcommand_from list check test new fmt help" -f -a "new" -d 'Print the rule that would make two workloads equal, for you to judge'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and not __fish_seen_subcommand_from list check test new fmt help" -f -a "fmt" -d 'Write rule files in the usual layout'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and not __fish_seen_subcommand_from list check test new fmt help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from list" -l used -d 'Only those that the comparison of these two workloads applies, and how often' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from check" -l table -d 'Print what was tried of each rule: instances, ranks, element types, sizes'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from new" -l name -d 'Name of the rule' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from fmt" -l check -d 'Change nothing; answer 1 if a file has another layout'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from fmt" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the rules of the library and of the given files'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "check" -d 'Try the rules of the files out on many instances; without files, those of the library'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "test" -d 'Run the `test` items of the files; without files, those of the library'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "new" -d 'Print the rule that would make two workloads equal, for you to judge'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "fmt" -d 'Write rule files in the usual layout'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand rules; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and not __fish_seen_subcommand_from list run help" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and not __fish_seen_subcommand_from list run help" -f -a "list" -d 'List the cases'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and not __fish_seen_subcommand_from list run help" -f -a "run" -d 'Compare the sides of the cases. Energies are those of the kernels alone'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and not __fish_seen_subcommand_from list run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and __fish_seen_subcommand_from list" -l folder -d 'The folder that holds a folder for each case' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and __fish_seen_subcommand_from run" -l folder -d 'The folder that holds a folder for each case' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and __fish_seen_subcommand_from run" -l format -r -f -a "human\t'A table for a terminal'
markdown\t'The table with a section for each case, as the documentation has it'
json\t'One JSON array, for scripts'"
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the cases'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and __fish_seen_subcommand_from help" -f -a "run" -d 'Compare the sides of the cases. Energies are those of the kernels alone'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand corpus; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and not __fish_seen_subcommand_from show diff merge fit help" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and not __fish_seen_subcommand_from show diff merge fit help" -f -a "show" -d 'List the figures of a profile; without a file, of the one that the program carries'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and not __fish_seen_subcommand_from show diff merge fit help" -f -a "diff" -d 'Compare two profiles'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and not __fish_seen_subcommand_from show diff merge fit help" -f -a "merge" -d 'Join profiles of one device and one set of libraries, and fit the estimator on all'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and not __fish_seen_subcommand_from show diff merge fit help" -f -a "fit" -d 'Fit the estimator on the measured figures, and show how well it predicts those left out'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and not __fish_seen_subcommand_from show diff merge fit help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from merge" -s o -l output -d 'The profile to write' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from merge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from fit" -l write -d 'Keep the fitted estimator in the file'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from fit" -s h -l help -d 'Print help'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from help" -f -a "show" -d 'List the figures of a profile; without a file, of the one that the program carries'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from help" -f -a "diff" -d 'Compare two profiles'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from help" -f -a "merge" -d 'Join profiles of one device and one set of libraries, and fit the estimator on all'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from help" -f -a "fit" -d 'Fit the estimator on the measured figures, and show how well it predicts those left out'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand profile; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l keys -d 'A file of operator keys, one a line' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l profile -d 'The profile that is read, if it exists, and written' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l python -d 'The Python whose PyTorch runs the operators; without it the libtorch that the program was built with, or else the active environment\'s Python' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l device -d 'Which GPU, as CUDA counts those that it sees' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l known -d 'A profile whose figures are not measured again, but for a few that show how the cards differ' -r -F
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l passes -d 'Measure each operator this many times, each time elsewhere in memory and after all others, and from three on up to three times as often where they scatter; a figure is the mean' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l key-budget -d 'The most seconds for one measurement, warm-up left out' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l budget -d 'The most seconds in all' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l trials -d 'Measure the first operator this many times against itself, and what polling the meter costs' -r
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l quick -d 'Measure the designed spread of operators, once and briefly each: a whole profile in under 20 minutes'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l no-alternatives -d 'Leave out the forms that the rules find and that could save energy'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l whole -d 'Replay the graphs end to end too, and compare with the sum of their operators'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -l regions -d 'Replay both sides of every proven region of the two graphs in one piece too'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand measure" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "check" -d 'Are A and B equal, where does the energy go, what is the cheapest equivalent, and why'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "explain" -d 'One region of the comparison in full: operators, types, costs, and the proof step by step'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "optimize" -d 'Cheaper equivalents of one workload that the rules can prove'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "verify-proof" -d 'Replay a proof that `check --proof` wrote, without searching for one'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "lower" -d 'Print the operator graph of a file as `.mir` text'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "run" -d 'Compute the outputs of a graph for given inputs with the reference evaluator'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "rules" -d 'The rules that proofs are made of'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "corpus" -d 'Published cases of wasted energy'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "profile" -d 'Measured energies'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "measure" -d 'Measure the operators of graphs on this machine\'s GPU, as far as the profile does not hold them yet'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and not __fish_seen_subcommand_from check explain optimize verify-proof lower run rules corpus profile measure help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "list" -d 'List the rules of the library and of the given files'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "check" -d 'Try the rules of the files out on many instances; without files, those of the library'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "test" -d 'Run the `test` items of the files; without files, those of the library'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "new" -d 'Print the rule that would make two workloads equal, for you to judge'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from rules" -f -a "fmt" -d 'Write rule files in the usual layout'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from corpus" -f -a "list" -d 'List the cases'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from corpus" -f -a "run" -d 'Compare the sides of the cases. Energies are those of the kernels alone'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from profile" -f -a "show" -d 'List the figures of a profile; without a file, of the one that the program carries'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from profile" -f -a "diff" -d 'Compare two profiles'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from profile" -f -a "merge" -d 'Join profiles of one device and one set of libraries, and fit the estimator on all'
complete -c magneton-ir -n "__fish_magneton_ir_using_subcommand help; and __fish_seen_subcommand_from profile" -f -a "fit" -d 'Fit the estimator on the measured figures, and show how well it predicts those left out'
