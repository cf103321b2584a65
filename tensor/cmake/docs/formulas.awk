# awk -f formulas.awk PAGE.md: the page with its formulas, $...$ in a line and $$...$$ on a line, as
# HTML. So the site shows them without TeX and without a network. Pages use only the commands below;
# make.cmake finds "unknown formula" in the site.

BEGIN {
  split("alpha α beta β gamma γ partial ∂ cdot · times × odot ∘ approx ≈ le ≤ ge ≥ ne ≠ infty ∞ to → " \
        "sum ∑ dots … quad &emsp; sqrt √", pairs, " ")
  for (i = 1; i in pairs; i += 2) symbol[pairs[i]] = pairs[i + 1]
  split("exp log sin cos tanh max", names, " ")
  for (i = 1; i in names; ++i) symbol[names[i]] = upright(names[i])
}

function upright(text) { return "<span class=\"upright\">" text "</span>" }

function in_parentheses(text) { return text ~ /^[A-Za-z0-9]+$/ ? text : "(" text ")" }

# A group with its command, \text{...}, \frac{...} or _{...}, as HTML.
function group(command, text) {
  if (command == "_") return "<sub>" text "</sub>"
  if (command == "^") return "<sup>" text "</sup>"
  if (command == "\\text") return upright(text)
  if (command == "\\sqrt") return "√" in_parentheses(text)
  if (command == "\\frac") return in_parentheses(text) " / \\over"  # the next group is the denominator
  if (command == "\\over") return in_parentheses(text)
  return command == "" ? text : "unknown formula: " command
}

function html(text,    found, after, brace, command) {
  gsub(/</, "\\&lt;", text)
  gsub(/>/, "\\&gt;", text)
  gsub(/[_^][A-Za-z0-9]/, "&}", text)  # _i is _{i}
  gsub(/_/, "_{", text); gsub(/\^/, "^{", text)
  gsub(/[{][{]/, "{", text)
  while (match(text, /(\\[a-z]+|[_^])?[{][^{}]*[}]/)) {  # innermost groups first
    found = substr(text, RSTART, RLENGTH)
    after = substr(text, RSTART + RLENGTH)
    text = substr(text, 1, RSTART - 1)
    brace = index(found, "{")
    text = text group(substr(found, 1, brace - 1), substr(found, brace + 1, length(found) - brace - 1)) after
  }
  while (match(text, /\\[a-z]+/)) {
    command = substr(text, RSTART + 1, RLENGTH - 1)
    found = command in symbol ? symbol[command] : "unknown formula: " command
    text = substr(text, 1, RSTART - 1) found substr(text, RSTART + RLENGTH)
  }
  return "<i>" text "</i>"
}

# A line without code: every second part between dollars is a formula.
function with_formulas(text,    parts, count, i, result) {
  count = split(text, parts, "$")
  for (i = 1; i <= count; ++i) result = result (i % 2 == 0 ? html(parts[i]) : parts[i])
  return result
}

/^```/ { is_code = !is_code }
is_code || !/[$]/ { print; next }
/^[$][$]/ { gsub(/[$][$]/, ""); print "<blockquote>" html($0) "</blockquote>"; next }
{
  count = split($0, spans, "`")
  line = with_formulas(spans[1])
  for (s = 2; s <= count; ++s) line = line "`" (s % 2 == 0 ? spans[s] : with_formulas(spans[s]))
  print line
}
