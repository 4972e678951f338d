import Arguments
import HaulSystem

/// A shell that the command `completion` supports.
enum Shell: String, CaseIterable, OptionValue { case bash, zsh, fish }

struct CompletionCommand: HaulCommand {
  static let name = "completion"
  static let abstract = "Print the completion script for a shell."
  static let discussion = """
    The script completes commands, options, values and paths. It also completes names of queues, batches, \
    stores, hosts and workers if the database answers within 300 milliseconds, or within \
    HAUL_COMPLETION_TIMEOUT. To install it:

      bash  mkdir -p ~/.local/share/bash-completion/completions
            haul completion bash >~/.local/share/bash-completion/completions/haul
      zsh   mkdir -p ~/.zfunc
            haul completion zsh >~/.zfunc/_haul
            and in ~/.zshrc: fpath+=~/.zfunc; autoload -U compinit; compinit
      fish  mkdir -p ~/.config/fish/completions
            haul completion fish >~/.config/fish/completions/haul.fish

    Then start a new shell. For one session of bash, run: source <(haul completion bash)
    """
  static let examples = [
    Example("haul completion bash", "Prints the script for bash 4.4 or newer."),
    Example("haul completion fish", "Prints the script for fish."),
  ]
  static let operands: [Operand<Self>] = [.required("shell", \.shell, "The shell.")]

  var shell = Shell.bash

  func perform() async throws {
    try StandardStream.output.write(shell.stub)
  }
}

extension Shell {
  /// The shell code that calls `haul __complete`. The first line of the answer is the kind of completion. The second line is
  /// the beginning of the path that the user types, such as `lists/a` of `--input=lists/a`. The third line is the text before
  /// this path, here `--input=`. The other lines are candidates.
  ///
  /// Bash begins a new word after a colon, and replaces only that word. So for bash the third line is the part of the path that
  /// bash keeps, such as `a:` of the path `a:b`. The code removes this part from each candidate.
  fileprivate var stub: String {
    switch self {
    case .bash:
      #"""
      # bash completion for haul
      _haul() {
        local kind prefix lead
        COMPREPLY=()
        {
          IFS= read -r kind && IFS= read -r prefix && IFS= read -r lead || return 0
          case $kind in
            files | directories)
              compopt -o filenames
              if [[ $kind == files ]]; then mapfile -t COMPREPLY < <(compgen -f -- "$prefix")
              else mapfile -t COMPREPLY < <(compgen -d -- "$prefix"); fi
              COMPREPLY=("${COMPREPLY[@]#"$lead"}") ;;
            partial) compopt -o nospace; mapfile -t COMPREPLY ;;
            *) mapfile -t COMPREPLY ;;
          esac
        } < <(haul __complete --line="${COMP_LINE:0:COMP_POINT}" --replaced="$2" 2>/dev/null)
      }
      complete -F _haul haul

      """#
    case .zsh:
      #"""
      #compdef haul
      # zsh completion for haul
      _haul() {
        local -a lines entries
        local line
        lines=("${(@f)$(haul __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
        case $lines[1] in
          files|directories)
            [[ -z $lines[3] ]] || compset -P '*='
            if [[ $lines[1] == files ]]; then _files; else _files -/; fi
            return ;;
        esac
        for line in "${(@)lines[4,-1]}"; do
          [[ -n $line ]] && entries+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        done
        if [[ $lines[1] == partial ]]; then
          _describe -V haul entries -S ''
        else
          _describe -V haul entries
        fi
      }
      if [[ $funcstack[1] == _haul ]]; then _haul "$@"; else compdef _haul haul; fi

      """#
    case .fish:
      #"""
      # fish completion for haul
      function __haul_complete
          set -l token (commandline -ct)
          set -l words (commandline -opc) "$token"
          set -l lines (haul __complete -- $words[2..-1] 2>/dev/null)
          switch "$lines[1]"
              case files directories
                  for path in (__fish_complete_path $lines[2])
                      if test $lines[1] = files; or string match -qr '/(\t|$)' -- $path
                          echo $lines[3]$path
                      end
                  end
              case '*'
                  printf '%s\n' $lines[4..-1]
          end
      end
      complete -c haul -f -a '(__haul_complete)'

      """#
    }
  }
}
