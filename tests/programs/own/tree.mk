# Forty rules at two a time: each starts a shell and programs.
names := $(foreach one,1 2 3 4 5 6 7 8 9 10,$(addprefix $(one)-,a b c d))

all: $(addsuffix .sum,$(names))
	@cat $(sort $^)

%.txt:
	@printf '%s\n' $@ >$@ && head -c 100000 /dev/zero >>$@

%.sum: %.txt
	@cksum $< >$@
