package tasks

import (
	"encoding/json"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// TestKnownFaults: where reasoning-gym 0.1.25 pays wrong answers or refuses
// right ones (its fixtures' README, "Known faults"), ours does not.
func TestKnownFaults(t *testing.T) {
	right := func(s string) [2]string { return [2]string{s, verify.Right} }
	wrong := func(s string) [2]string { return [2]string{s, verify.Wrong} }
	queens := `{"answer":"_ Q _ _\n_ _ _ Q\nQ _ _ _\n_ _ Q _","metadata":{"valid_answers":["_ Q _ _\n_ _ _ Q\nQ _ _ _\n_ _ Q _"]}}`
	colour := `{"answer":null,"metadata":{"puzzle":{"vertices":[0,1],"edges":[[0,1]],"num_colors":2,"color_options":[1,2]}}}`
	jugs := `{"answer":"[\"fill A\"]","metadata":{"puzzle":{"jug_capacities":[3,5,7],"target":3}}}`
	lock := `{"answer":"A → A","metadata":{"target_value":4,"initial_value":0,"initial_state":"red","buttons":[{"name":"A","type":"add","value":2,"active_state":"any"},{"name":"B","type":"add","value":1,"active_state":"green"}]}}`
	for _, c := range []struct {
		family, row string
		answers     [][2]string
	}{
		// Runs the answer as code.
		{"n_queens", queens, [][2]string{right("_ Q _ _\n_ _ _ Q\nQ _ _ _\n_ _ Q _ \n"), wrong("[['_','Q','_','_']]"), wrong("open('x','w')")}},
		{"binary_matrix", `{"answer":"0 1\n1 2"}`, [][2]string{right("0 1 \n1 2"), wrong("[[0, 1], [1, 2]]"), wrong("open('x','w')")}},
		{"spiral_matrix", `{"answer":"1 2 4 3"}`, [][2]string{right("1 2 4 3 "), wrong("open('x','w')"), wrong("[1]*4")}},
		{"string_insertion", `{"answer":"ABCDAE"}`, [][2]string{right("ABCDAE "), wrong("'ABCDAE'"), wrong("open('x','w')")}},
		{"countdown", `{"metadata":{"numbers":[2,3],"target":6}}`, [][2]string{right("2 × 3"), right("2*3 = 6"), right(`2 \times 3`), wrong("open('x','w')"), wrong("9**9**9"), wrong("")}},
		{"puzzle24", `{"answer":"2*10 - 6 + 10"}`, [][2]string{right("10*2-6+10"), right("2×10 - 6 + 10 = 24"), wrong("6*4*1*1"), wrong("6*4 + 1/2"), wrong("(9*5+4)/2"), wrong("8*3*(1**9)"), wrong("open('x','w')"), wrong("")}},
		{"polynomial_multiplication", `{"answer":"x**2 + 3*x + 2"}`, [][2]string{right("(x + 1)*(x + 2)"), right("x^2+3x+2"), right("2 + 3*x + x**2"), wrong("x**2 + 3*x + 2 + len('')"), wrong("open('x','w')"), wrong("(x+1)**99999999"), wrong("x**2 + 3*x + 2\x00"), wrong("x**2 + 3*x + 2\x00more")}},
		// Wrong answers that are paid.
		{"game_of_life_halting", `{"answer":"True"}`, [][2]string{right("True"), right("true"), wrong("False"), wrong("banana"), wrong("not True"), wrong("True False")}},
		{"coin_flip", `{"answer":"0.03125"}`, [][2]string{right("1/32"), right("2/64"), right(`\frac{1}{32}`), right("3.125%"), right("0.03125"), wrong("0"), wrong("0."), wrong("0.0"), wrong("3.125")}},
		{"coin_flip", `{"answer":"1"}`, [][2]string{right("1"), right("100%"), wrong("10"), wrong("1.01")}},
		{"complex_arithmetic", `{"answer":"-4.0 + 11.0i","metadata":{"result":[-4,11]}}`, [][2]string{right("11i - 4"), right("-4 + 11*i"), right("-4+11j"), wrong("nan"), wrong("(-3.0 + 7.0i) + (-1.0 + 4.0i)"), wrong("-4"), wrong("11i")}},
		{"number_sorting", `{"answer":"['-1.5', '2', '30']","metadata":{"direction":"ascending"}}`, [][2]string{right("[-1.5, 2, 30]"), right(`["-1.50", "2.0", "30"]`), wrong("[NaN, NaN, NaN]"), wrong("['-0.6', '2.9', '30.9']"), wrong("[2, -1.5, 30]")}},
		{"game_of_life", `{"answer":"[[0,0],[0,1]]"}`, [][2]string{right("[[0, 0], [0, 1]]"), wrong("[[0,0],[0,0]]"), wrong("[[0,0],[0,1],[1,1]]"), wrong("[[0,0,0],[0,1,0]]"), wrong("{}")}},
		{"spell_backward", `{"answer":"nus"}`, [][2]string{right("nus"), wrong("nusxyz")}},
		{"futoshiki", `{"answer":"1   2\n     \n2   1"}`, [][2]string{right("1 2\n2 1"), wrong("1 1\n1 1"), wrong("1 2\n2 1\n1 2"), wrong("1 2\n2 1 x")}},
		{"sudoku", `{"answer":"1 2\n2 1"}`, [][2]string{right("1 2\n2 1"), wrong("1 1\n2 1")}},
		{"mini_sudoku", `{"answer":"1 2\n2 1"}`, [][2]string{right("1 2\n2 1 "), wrong("1 2\n2 1\n1")}},
		{"gcd", `{"answer":"12"}`, [][2]string{right("12.0"), right("+12"), right("12."), wrong("123"), wrong("12 or 13"), wrong("12\n13")}},
		{"chain_sum", `{"answer":"5"}`, [][2]string{wrong("57"), wrong("15")}},
		{"products", `{"answer":"5"}`, [][2]string{wrong("57"), right("5.0")}},
		{"manipulate_matrix", `{"answer":"5\n5"}`, [][2]string{right("5 \n5"), wrong("5\n5\n5"), wrong("5 5")}},
		{"time_intervals", `{"answer":"05:16:42.000"}`, [][2]string{right("5:16:42"), wrong("05:16:42.001"), wrong("12:00")}},
		{"time_intervals", `{"answer":"13:02"}`, [][2]string{wrong("12:00"), right("13:02:00"), wrong("-13:02")}},
		{"fraction_simplification", `{"answer":"$\\frac{1}{3}$","metadata":{}}`, [][2]string{right("1/3"), right(`\tfrac{1}{3}`), wrong(`\frac{1}{3}\frac{2}{5}`), wrong("$1/3$ 2/5"), wrong("2/6"), wrong("0.3333")}},
		{"fraction_simplification", `{"answer":"$\\frac{1}{3}$","metadata":{}}`, [][2]string{right("(1/3)"), wrong("(1/3"), wrong("1/3)")}},
		{"fraction_simplification", `{"answer":"-1/3","metadata":{}}`, [][2]string{right(`-\frac{1}{3}`), right(`\frac{-1}{3}`), wrong(`-\frac{-1}{3}`), wrong(`\frac{1}{3}`)}},
		{"quantum_lock", lock, [][2]string{right("A → A"), right("a, a"), wrong("Press A, A"), wrong("A → B → B → B"), wrong("B → A → A")}},
		{"decimal_arithmetic", `{"answer":"-3.77383623056"}`, [][2]string{right("-3.77383623056"), wrong("-3.77283623056"), wrong("-3.774")}},
		{"number_format", `{"answer":"183167528.881"}`, [][2]string{right("1.83167528881e8"), right("183,167,528.881"), wrong("183167528.891"), wrong("183167528.88")}},
		{"power_function", `{"answer":"-41779141.61382043"}`, [][2]string{right("-4.18e+7"), right(`-4.18 \times 10^{7}`), right("-41779141.61382043"), wrong("-41779142.61382043"), wrong("-4.2e7"), wrong("-4.17e7")}},
		{"prime_factorization", `{"answer":"2 × 2 × 3 × 5"}`, [][2]string{right("2^2 × 3 × 5"), right("5 * 3 * 2 * 2"), right("2, 2, 3, 5"), right("60 = 2 × 2 × 3 × 5"), wrong("60"), wrong("4 × 3 × 5"), wrong("2 × x"), wrong("a"),
			right("2 × 2 × 3 × 5 = 60"), right("2**2*3*5"), right("2²·3·5"), right("2^{2} ⋅ 3 ⋅ 5"), wrong("2 × 2 × 3 × 5x"), wrong("x2 × 2 × 3 × 5"), wrong("2 × 2 × 3 × 5,"),
			wrong("2 × 2 × × 3 × 5"), wrong("2^{2 × 3 × 5"), wrong("61 = 2 × 2 × 3 × 5"), wrong("2 × 2 × 3 × 5 = 61"), wrong("60 = 60 = 2 × 2 × 3 × 5")}},
		{"prime_factorization", `{"answer":"2 × 3 × 5"}`, [][2]string{wrong("2**3*5"), right("2x3x5")}},
		{"palindrome_generation", `{"answer":"aba","metadata":{"letters":["a","b","a"]}}`, [][2]string{right("aba"), wrong("any text"), wrong("aa"), wrong("abba")}},
		{"circuit_logic", `{"answer":"1"}`, [][2]string{right("1 "), wrong("0"), wrong("0 1")}},
		{"kakurasu", `{"answer":"1 0\n0 1","metadata":{"row_sums":[1,2],"col_sums":[1,2]}}`, [][2]string{right("1 0\n0 1"), wrong("row a: 1 0\n0 1"), wrong("1 0\n0 1 blah")}},
		{"survo", `{"answer":"1 2\n3 4"}`, [][2]string{right("1 2\n3 4"), wrong("x 1 2\n3 4"), wrong("The answer is 1 2\n3 4")}},
		{"knights_knaves", `{"answer":"Zoey is a knight, and Bob is a knave."}`, [][2]string{right("Zoey: knight\nBob: knave"), right("Bob is a knave, and Zoey is a knight."), wrong("I think Zoey is a knight, and Bob is a knave."), wrong("Zoey is a knight, and Bob is not a knave.")}},
		{"cryptarithm", `{"answer":"A=1,B=2","metadata":{"allow_leading_zero":false,"words_letters":["A","A"],"result_letters":"B"}}`, [][2]string{right("B=2, A=1"), right("A=3,B=6"), wrong("A=1,B=2,A=1"), wrong("A=1"), wrong("A=1,B=3"), wrong("A=1,B=2,C=3")}},
		{"graph_color", colour, [][2]string{right(`{"0": 1, "1": 2}`), right(`{"1": 1, "0": 2}`), wrong(`{"0": true, "1": 2}`), wrong(`{"0": 1.0, "1": 2}`), wrong(`{"0": 1, "1": 2, "2": 1}`), wrong(`{"0": 1, "1": 1}`)}},
		{"jugs", jugs, [][2]string{right(`["fill A"]`), right(`["fill B", "pour B->A"]`), wrong(`["fill A now"]`), wrong(`["fill A", "empty A"]`), wrong(`["fill Z"]`), wrong(`{}`)}},
		// Right answers that are not paid.
		{"polynomial_equations", `{"answer":"-2.0, 1.5"}`, [][2]string{right("x = 1.5 or x = -2"), right("{1.5, -2}"), right("-2 and 1.5"), wrong("1.5"), wrong("1.5, -2, 3"), wrong("1.5, -2, nan"), wrong("1.4, -2")}},
		{"self_reference", `{"answer":"2"}`, [][2]string{right("2 "), wrong("22")}},
		{"ab", `{"answer":"#A B#"}`, [][2]string{right("#A B# "), right("#A  B#"), wrong("B# #A")}},
		{"dice", `{"answer":"1159/2880"}`, [][2]string{right("2318/5760"), right("0.40243055555555557"), right("0.402431"), wrong("0.40"), wrong("1160/2880")}},
		{"calendar_arithmetic", `{"answer":"Monday","metadata":{"task":"weekday_of_date"}}`, [][2]string{right("monday"), wrong("Tuesday"), wrong("Monday or Tuesday")}},
		{"calendar_arithmetic", `{"answer":"3","metadata":{"task":"count_days"}}`, [][2]string{right("3 days"), wrong("4 days"), wrong("2.9")}},
		{"word_sequence_reversal", `{"answer":"you, to, over"}`, [][2]string{right("you,to,over"), wrong("over, to, you")}},
		{"number_filtering", `{"answer":"['12', '1.50']"}`, [][2]string{right("[12, 1.5]"), wrong("['12']")}},
		{"word_sorting", `{"answer":"b, a","metadata":{"sorted_words":["b","a"]}}`, [][2]string{right("b,a"), wrong("b, a, zebra")}},
	} {
		for _, a := range c.answers {
			line, err := json.Marshal(map[string]any{"verifier": "task:" + c.family, "task": json.RawMessage(c.row), "completion": a[0], "extract": "none"})
			if err != nil {
				t.Fatal(err)
			}
			if v, err := verify.Grade(line, ""); err != nil || v.Verdict != a[1] {
				t.Errorf("%s %s: %q: %+v, %v; want %s", c.family, c.row, a[0], v, err, a[1])
			}
		}
	}
}

// TestPropositionalLogic: what follows and says something new is right.
func TestPropositionalLogic(t *testing.T) {
	row := verify.Problem{Metadata: metadata(map[string]any{"premises": []string{"(P → Q)", "P"}, "variables": []string{"P", "Q", "R"}})}
	for answer, want := range map[string]string{
		"(P ∧ Q)": verify.Right, "P ∧ Q": verify.Right, "(Q ∨ R)": verify.Right, "¬¬Q": verify.Right, "R → Q": verify.Right, "Q ↔ P": verify.Right,
		"Q": verify.Wrong, "P": verify.Wrong, "(P → Q)": verify.Wrong, "((P→Q))": verify.Wrong, "P ∧ (P → Q)": verify.Wrong, "(P → Q) ∧ P ∧ P": verify.Wrong,
		"P ∨ ¬P": verify.Wrong, "R": verify.Wrong, "¬R ∨ R": verify.Wrong, "P ∧ R": verify.Wrong, "S ∨ Q": verify.Wrong, "P &": verify.Wrong, "(P": verify.Wrong, "": verify.Wrong,
	} {
		if v := byItsVerifier(t, "propositional_logic", row, answer); v.Verdict != want {
			t.Errorf("%q: %+v, want %s", answer, v, want)
		}
	}
	contrary := verify.Problem{Metadata: metadata(map[string]any{"premises": []string{"P", "¬P"}, "variables": []string{"P", "Q"}})}
	if v := byItsVerifier(t, "propositional_logic", contrary, "(Q ∧ P)"); v.Verdict != verify.Wrong {
		t.Errorf("from contradictory premises: %+v", v)
	}
}
